"""The demo's output: its numbers are parsed and computed again by NumPy alone."""

import math
import re
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.cli import demo as demo_module
from axiomjit.cli.demo import SOURCE_LINES, l2, shown_kernels
from axiomjit.cli.main import main
from axiomjit.cli.measure import (
    Comparison,
    OtherPrograms,
    Times,
    compare_functions,
    difference,
    exact_l2,
)

UNITS = {"us": 1e-6, "ms": 1e-3}


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
    """What stands behind a label, as words."""
    found = [line for line in lines if line.startswith(label)]
    return found[nth].removeprefix(label).split()


def number(word):
    return float(word.replace(",", ""))


def ratio_agrees(lines, label):
    """Medians lie within their quartiles; a ratio is theirs, and only where quartiles are apart."""
    start = next(k for k, line in enumerate(lines) if line.startswith(label))
    part = lines[start : start + 4]
    numpy, numpy_unit, ours, ours_unit = row(part, label)
    assert numpy_unit == ours_unit
    assert numpy_unit in UNITS
    low, to, high, our_low, and_to, our_high = row(part, "quartiles")
    assert (to, and_to) == ("to", "to")
    assert number(low) <= number(numpy) <= number(high)
    assert number(our_low) <= number(ours) <= number(our_high)
    apart = number(low) > number(our_high) or number(our_low) > number(high)
    printed = row(part, "ratio of times")
    if printed[0] == "none:":
        assert printed[1:] in (["quartiles", "overlap"], ["busy", "cores"])
        assert printed[1] == "busy" or not apart
        return
    assert apart
    close = {"rel": 0.02, "abs": 0.006}
    assert number(printed[2]) == pytest.approx(number(numpy) / number(ours), **close)
    least, _, most = row(part, "as the quartiles allow")
    assert number(least) == pytest.approx(number(low) / number(our_high), **close)
    assert number(most) == pytest.approx(number(high) / number(our_low), **close)


def l2_agrees(lines, x, y):
    """The results that the demo printed are those of NumPy and of math.fsum."""
    t = x - y
    numpy, ours = map(float, row(lines, "result"))
    assert numpy == np.dot(t, t)
    assert ours == pytest.approx(math.fsum((t * t).tolist()), rel=1e-13)
    assert all(float(off) < 1e-13 for off in row(lines, "off math.fsum, relative"))
    assert float(row(lines, "axiomjit off numpy, relative")[0]) < 1e-13


def test_generated_numbers(demo):
    lines = demo("--rows", 200_000)
    assert len(lines) <= 72
    assert max(map(len, lines)) <= 100
    assert re.fullmatch(r"axiomjit demo: axiomjit .+, \d+ threads?, numpy [\d.]+\S*", lines[0])
    assert lines[1] == "data: 200,000 rows, columns x, y, random float64, 3,200,000 bytes"
    rng = np.random.default_rng(0)
    l2_agrees(lines, rng.random(200_000), rng.random(200_000))
    ratio_agrees(lines, "time of a call")
    assert row(lines, "temporaries, planned") == ["0", "bytes"]
    numpy, _, ours, _ = row(lines, "temporaries, measured")
    assert int(numpy.replace(",", "")) >= 1_600_000
    assert int(ours.replace(",", "")) < 16_384
    assert "  |     return np.dot(t.T, t)" in lines
    source = axiomjit.jit(l2).lower(np.ones(200_000), np.ones(200_000)).source
    assert lines.count("compiled from this source, 1 kernel:") == 1
    start = lines.index("  | def kernel(w, lo, hi):")
    assert [line[4:] for line in lines[start:][: len(source.splitlines())]] == source.splitlines()
    once = next(line for line in lines if line.startswith("once, before the first result:"))
    how = "(to import Numba and compile|to load kernels from disk)"
    assert re.search(rf": [\d.]+ ms of passes, [\d,.]+ ms {how}$", once)


def table(lines):
    """The table of columns: name -> [rows, mean, min, max, std] as printed."""
    start = next(k for k, line in enumerate(lines) if line.startswith("column  "))
    end = lines.index("", start)
    found = {}
    for line in lines[start + 1 : end]:
        words = line[21:].split()
        if len(words) == 5 and not line.startswith("*"):
            found[line[:21].strip()] = words
    return found


def table_agrees(lines, columns):
    found = table(lines)
    assert list(found) == list(columns)
    for name, values in columns.items():
        rows, *numbers = found[name]
        present = values[~np.isnan(values)]
        assert rows == f"{len(present):,}" + "*" * (len(present) < len(values))
        expected = [present.mean(), present.min(), present.max(), present.std()]
        np.testing.assert_allclose([float(n) for n in numbers], expected, rtol=1e-8)
    assert float(row(lines, "axiomjit off numpy, relative", 1)[0]) < 1e-13
    ratio_agrees(lines, "time of all columns")


def test_stock_prices_of_matplotlib(demo):
    path = sample("msft.csv")
    lines = demo(path)
    names = ["Open", "High", "Low", "Close", "Volume", "Adj. Close*"]
    values = np.loadtxt(path, delimiter=",", skiprows=1, usecols=range(1, 7))
    assert lines[1] == f"data: {path} (text, delimiter ',', 7 columns)"
    assert lines[2:5] == [
        f"      {len(values):,} rows, 6 numeric columns",
        "      skipped Date: '19-Sep-03' in row 1 is not a number",
        "      x = Open, y = High",
    ]
    l2_agrees(lines, values[:, 0], values[:, 1])
    table_agrees(lines, dict(zip(names, values.T, strict=True)))
    few = f"{len(values)} rows are few: this is the price of a call more than of a loop"
    assert few in lines


def test_elevation_model_of_matplotlib(demo):
    path = sample("jacksboro_fault_dem.npz")
    with np.load(path) as archive:
        heights = archive["elevation"].astype(float).ravel()
    lines = demo(path)
    assert lines[2] == "      138,632 rows, 1 numeric column"
    assert "      took elevation, 344 x 403, as one column in row order" in lines
    assert "      x = elevation from its second row on, y = one row before" in lines
    l2_agrees(lines, heights[1:], heights[:-1])
    table_agrees(lines, {"elevation": heights})


def test_rows_with_missing_values_are_dropped_and_counted(demo, tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text(
        "day,a,b\n" + "".join(f"d{k},{k * k},{k}\n" for k in range(50)) + "e,,7\nf,8,\n"
    )
    lines = demo(path)
    k = np.arange(50.0)
    assert "      dropped 2 rows with a missing value in a column used here" in lines
    l2_agrees(lines, k * k, k)
    gap = [np.nan]
    columns = {"a": np.r_[k * k, gap, 8], "b": np.r_[k, 7, gap]}
    table_agrees(lines, columns)
    assert "* rows with a value; the others are missing and left out" in lines


def test_function_of_the_user(demo, tmp_path):
    code = tmp_path / "own.py"
    code.write_text(
        "import numpy as np\nimport axiomjit\n\n\n@axiomjit.jit\ndef norm(a, b, c, scale=2.0):\n"
        "    u = np.sqrt(a * a + b * b + c * c) * scale\n    return u, u.sum()\n"
    )
    lines = demo("--rows", 5000, "--function", f"{code}:norm")
    assert "columns a, b, c, random float64, 120,000 bytes" in lines[1]
    assert "  | def norm(a, b, c, scale=2.0):" in lines
    a, b, c = np.random.default_rng(0).random((3, 5000))
    total = (np.sqrt(a * a + b * b + c * c) * 2).sum()
    assert row(lines, "result 1") == ["float64[5000]"] * 2
    np.testing.assert_allclose([float(w) for w in row(lines, "result 2")], total, rtol=1e-13)
    assert not [line for line in lines if line.startswith("off math.fsum")]


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


class Programs:
    """Stand for the other programs: they use so many cores."""

    used = 0.0

    def cores(self):
        return self.used


@pytest.mark.parametrize(
    ("numpy", "ours", "used", "printed"),
    [
        ((4e-3, 5e-3, 6e-3), (1e-3, 2e-3, 3e-3), 0.0, "2.50 x as fast"),
        ((1e-3, 2e-3, 3e-3), (4e-3, 5e-3, 6e-3), 0.0, "0.40 x as fast"),
        ((1e-3, 5e-3, 6e-3), (1e-3, 2e-3, 3e-3), 0.0, "none: quartiles overlap"),
        ((1e-3, 2e-3, 3e-3), (3e-3, 3e-3, 9e-3), 0.0, "none: quartiles overlap"),
        ((4e-3, 5e-3, 6e-3), (1e-3, 2e-3, 3e-3), 1e9, "none: busy cores"),
    ],
)
def test_a_ratio_is_printed_only_where_it_is_certain(demo, monkeypatch, numpy, ours, used, printed):
    seen = Comparison(Times(*numpy), Times(*ours), 0, 0)
    monkeypatch.setattr(demo_module, "compare_functions", lambda *_: seen)
    monkeypatch.setattr(demo_module, "OtherPrograms", Programs)
    monkeypatch.setattr(Programs, "used", used)
    lines = demo("--rows", 1000)
    assert " ".join(row(lines, "ratio of times")).removeprefix("1.00 x ") == printed
    ratio_agrees(lines, "time of a call")
    warned = [line for line in lines if line.startswith("other programs used ")]
    assert len(warned) == (used > 0)


@pytest.mark.skipif(not Path("/proc/stat").exists(), reason="without /proc others are not seen")
def test_other_programs_are_seen():
    others = OtherPrograms()
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as process:
        time.sleep(0.5)
        used = others.cores()  # while its time is not yet this process's
        process.kill()
    assert used > 0.1


def test_planted_temporaries_are_measured():
    seen = compare_functions(lambda x: (x + 1.0).sum(), lambda x: x + 1.0, [np.zeros(100_000)])
    assert seen.numpy_bytes >= 800_000
    assert seen.ours_bytes < 10_000


def test_difference_and_exact_sum():
    assert difference((1.0, np.array([2.0, np.nan])), (1.0, np.array([2.0, np.nan]))) == 0
    assert difference([np.array([1.0, 4.0])], [np.array([1.0, 5.0])]) == pytest.approx(0.2)
    assert difference(np.nan, 1.0) == difference(1.0, np.nan) == difference(np.inf, 1.0) == np.inf
    assert difference(np.array([np.inf, 1.0]), np.array([np.inf, 2.0])) == 0.5
    assert (difference(("a", 1), ("a", 1)), difference("a", "b")) == (0, np.inf)
    assert exact_l2(np.array([1e8, 1.0]), np.zeros(2)) == 1e16 + 1
    assert math.isnan(exact_l2(np.array([np.inf, 1.0]), np.array([np.inf, 0.0])))
    assert math.isnan(exact_l2(np.full(9, 1e154), np.zeros(9)))
