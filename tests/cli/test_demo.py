"""The demo's output: its numbers are parsed and computed again by NumPy alone."""

import math
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import DataFileError
from axiomjit.cli.demo import SOURCE_LINES, difference, l2, read_columns, shown_kernels
from axiomjit.cli.main import main

NAN = float("nan")
TEXTS = {
    "plain": ("x,y\n1,2\n3,4\n", {"x": [1, 3], "y": [2, 4]}),
    "no header": ("1,2\n3,4\n", {"column 1": [1, 3], "column 2": [2, 4]}),
    "byte order mark": ("\ufeffx,y\n1,2\n", {"x": [1], "y": [2]}),
    "one column": ("x\n1\n2\n", {"x": [1, 2]}),
    "carriage returns": ("x,y\r\n1,2\r\n", {"x": [1], "y": [2]}),
    "missing": ("x,y\n1,\nN/A, nan\n3,4\n", {"x": [1, NAN, 3], "y": [NAN, NAN, 4]}),
    "text": ("day,x y*\n2020-01-01,5\n2020-01-02,6\n", {"x y*": [5, 6]}),
    "years above": ("id,2020,2021\n7,1,2\n", {"id": [7], "2020": [1], "2021": [2]}),
}


def sample(name):
    """A file of matplotlib's sample data, found without importing matplotlib."""
    spec = find_spec("matplotlib")
    assert spec is not None
    return Path(spec.submodule_search_locations[0]) / "mpl-data" / "sample_data" / name


@pytest.fixture
def demo(capsys):
    """Runs `axiomjit demo` and gives its lines."""

    def run(*arguments):
        assert main(["demo", *map(str, arguments)]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        assert "\t" not in out
        assert out.isascii()
        return out.splitlines()

    return run


def row(lines, label, nth=0):
    """The words behind a label."""
    found = [line for line in lines if line.startswith(label)]
    return found[nth].removeprefix(label).split()


def number(word):
    return float(word.replace(",", ""))


def l2_agrees(lines, x, y):
    """The results that the demo printed are those of NumPy and of math.fsum."""
    t = x - y
    numpy, ours = map(float, row(lines, "result 1"))
    assert numpy == np.dot(t, t)
    assert ours == pytest.approx(math.fsum((t * t).tolist()), rel=1e-13)
    assert float(row(lines, "largest relative difference")[0]) < 1e-13


def times_agree(lines, nth=0):
    """The ratio of the printed times is the printed one, as far as their digits say."""
    numpy, unit, ours, own_unit = row(lines, "time of a call", nth)
    assert unit == own_unit == "ms"
    printed = number(row(lines, "as fast as numpy", nth)[2])
    half = 0.00051  # times have three digits behind the point, their ratio two
    least = (number(numpy) - half) / (printed + 0.0051)
    most = (number(numpy) + half) / max(printed - 0.0051, 1e-9)
    assert least - half <= number(ours) <= most + half


@pytest.mark.parametrize("case", TEXTS)
def test_text_is_read(tmp_path, case):
    text, expected = TEXTS[case]
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode())
    found = {name: values.tolist() for name, values in read_columns(path).items()}
    np.testing.assert_equal(found, expected)
    first = {name: values[:1].tolist() for name, values in read_columns(path, 1).items()}
    assert all(math.isnan(v[0]) or v[0] == expected[k][0] for k, v in first.items())


def test_arrays_become_columns(tmp_path):
    np.savez(
        tmp_path / "a.npz",
        whole=np.arange(5, dtype=np.int16),
        pair=np.arange(10.0).reshape(5, 2),
        flag=np.array([True, False, True, True, False]),
        dx=np.float64(3),
        nothing=np.empty(0),
        z=np.zeros(5, complex),
        text=np.array(["a"] * 5),
        short=np.zeros(3),
    )
    found = read_columns(tmp_path / "a.npz")
    assert {name: values.tolist() for name, values in found.items()} == {
        "whole": [0, 1, 2, 3, 4],
        "pair[:, 0]": [0, 2, 4, 6, 8],
        "pair[:, 1]": [1, 3, 5, 7, 9],
        "flag": [1, 0, 1, 1, 0],
    }
    wide = np.arange(130.0).reshape(2, 65)
    np.save(tmp_path / "wide.npy", wide)
    np.testing.assert_array_equal(read_columns(tmp_path / "wide.npy", 7)["wide"], wide.ravel()[:7])


REFUSED = {
    "none.csv": (None, "No such file or directory"),
    "folder.csv": ("folder", "Is a directory"),
    "a.xlsx": (b"1", "a name that ends in '.xlsx'"),
    "empty.csv": (b"", "an empty file"),
    "ragged.csv": (b"x,y\n1,2\n3\n", "Line #3 (got 1 columns instead of 2)"),
    "words.csv": (b"name,of\nAnn,x\n", "no numeric column"),
    "latin.csv": ("n\xe4me,y\n1,2\n".encode("latin-1"), "can't decode byte 0xe4"),
    "short.npz": (b"PK\x03\x04", "File is not a zip file"),
    "short.npy": (b"\x93NUMPY\x01\x00v", "array header"),
    "pickle.npy": (b"not an array at all", "pickle"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_is_refused(tmp_path, name):
    content, seen = REFUSED[name]
    path = tmp_path / name
    if content == "folder":
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    with pytest.raises(DataFileError, match=re.escape(seen)) as caught:
        read_columns(path)
    asked, _, instead = str(caught.value).splitlines()
    assert asked == f"read the columns of {path}"
    assert instead.startswith("  instead: name a")


def test_generated_numbers(demo):
    lines = demo("--rows", 200_000)
    assert max(map(len, lines)) <= 100
    assert re.fullmatch(r"axiomjit demo: axiomjit .+, \d+ threads?, numpy [\d.]+\S*", lines[0])
    assert lines[1] == "data: 200,000 rows of random float64, columns x, y"
    rng = np.random.default_rng(0)
    l2_agrees(lines, rng.random(200_000), rng.random(200_000))
    times_agree(lines)
    assert row(lines, "temporaries, planned") == ["0", "bytes"]
    numpy, _, ours, _ = row(lines, "temporaries, measured")
    assert number(numpy) >= 1_600_000
    assert number(ours) < 16_384
    assert "  |     return np.dot(t.T, t)" in lines
    source = axiomjit.jit(l2).lower(np.ones(200_000), np.ones(200_000)).source
    assert lines.count("compiled from this source, 1 kernel:") == 1
    start = lines.index("  | def kernel(w, lo, hi):")
    assert [line[4:] for line in lines[start:][: len(source.splitlines())]] == source.splitlines()


def test_stock_prices_of_matplotlib(demo):
    path = sample("msft.csv")
    lines = demo(path)
    values = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, 7))
    assert lines[1:4] == [
        f"data: {path}",
        f"      {len(values):,} rows, 6 numeric columns",
        "      x = Open, y = High",
    ]
    l2_agrees(lines, values[:, 0], values[:, 1])


def test_elevation_model_of_matplotlib(demo):
    path = sample("jacksboro_fault_dem.npz")
    with np.load(path) as archive:
        heights = archive["elevation"].astype(float).ravel()
    lines = demo(path)
    assert lines[2] == "      138,632 rows, 1 numeric column"
    assert "      x = elevation from its second row on, y = one row before" in lines
    l2_agrees(lines, heights[1:], heights[:-1])


def test_rows_with_missing_values_are_dropped_and_counted(demo, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(
        "day,a,b\n" + "".join(f"d{k},{k * k},{k}\n" for k in range(50)) + "e,,7\nf,8,\n"
    )
    lines = demo(path)
    k = np.arange(50.0)
    assert "      dropped 2 rows with a missing value in a column used" in lines
    l2_agrees(lines, k * k, k)


def test_function_of_the_user(demo, tmp_path):
    code = tmp_path / "own.py"
    code.write_text(
        "import numpy as np\nimport axiomjit\n\n\n@axiomjit.jit\ndef norm(a, b, c, scale=2.0):\n"
        "    u = np.sqrt(a * a + b * b + c * c) * scale\n    return u, u.sum()\n"
    )
    lines = demo("--rows", 5000, "--function", f"{code}:norm")
    assert lines[1].endswith("columns a, b, c")
    assert "  | def norm(a, b, c, scale=2.0):" in lines
    a, b, c = (np.random.default_rng(0).random((3, 5000)))[:3]
    total = (np.sqrt(a * a + b * b + c * c) * 2).sum()
    assert row(lines, "result 1") == ["float64[5000]"] * 2
    np.testing.assert_allclose([float(w) for w in row(lines, "result 2")], total, rtol=1e-13)


def test_without_compilation(demo, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    lines = demo("--rows", 3000)
    assert lines[0].endswith("not compiled, AXIOMJIT_DISABLE is set")
    assert row(lines, "temporaries, planned") == ["not", "compiled"]
    x, y = np.random.default_rng(0).random((2, 3000))
    l2_agrees(lines, x, y)


TOO_LITTLE = {
    "columns": ("a,b\n1,2\n", "z", "a function of 3 arrays, from {0}; seen: 2 numeric columns"),
    "rows": ("a\n1\n", "f", "rows of a, from {0}; seen: 1 without a missing value"),
    "pairs": ("a,b\n1,\n,2\n", "f", "rows of a, b, from {0}; seen: 0 without a missing value"),
}


@pytest.mark.parametrize("case", TOO_LITTLE)
def test_too_little_data(capsys, tmp_path, case):
    text, name, message = TOO_LITTLE[case]
    data, code = tmp_path / "d.csv", tmp_path / "c.py"
    data.write_text(text)
    code.write_text("def f(x, y): return x + y\ndef z(x, y, z): return x + y + z\n")
    assert main(["demo", str(data), "--function", f"{code}:{name}"]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"axiomjit demo: {message.format(data)}; instead: name ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("lengths", "count"),
    [
        ((), 1),
        ((SOURCE_LINES,), 1),
        ((10 * SOURCE_LINES, 3), 1),
        ((SOURCE_LINES - 9, 9, 1), 2),
        ((SOURCE_LINES // 4,) * 9, 4),
    ],
)
def test_kernels_are_shown_whole_until_the_lines_are_filled(lengths, count):
    assert shown_kernels(["line\n" * length for length in lengths]) == count


def test_difference():
    assert difference((1.0, np.array([2.0, NAN])), (1.0, np.array([2.0, NAN]))) == 0
    assert difference([np.array([1.0, 4.0])], [np.array([1.0, 5.0])]) == pytest.approx(0.2)
    assert difference(np.array([np.inf, 1.0]), np.array([np.inf, 2.0])) == 0.5
    assert difference(1.0, np.inf) == difference(NAN, 1.0) == np.inf
    assert (difference(("a", 1), ("a", 1)), difference("a", "b")) == (0, np.inf)
