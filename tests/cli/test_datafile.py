"""Files as people have them, nasty ones included; each refusal in full."""

import re
import time
import zipfile

import numpy as np
import pytest

from axiomjit.base.errors import DataFileError
from axiomjit.cli.datafile import FORMATS, read_data


def write(folder, text, name="data.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def columns(path, rows=None):
    """Names and values of the columns of a file."""
    return {c.name: c.values.tolist() for c in read_data(path, rows).columns}


NAN = float("nan")
GOOD = {
    "plain": ("x,y\n1,2\n3,4\n", {"x": [1, 3], "y": [2, 4]}),
    "no header": ("1,2\n3,4\n", {"column 1": [1, 3], "column 2": [2, 4]}),
    "byte order mark": (b"\xef\xbb\xbfx,y\n1,2\n", {"x": [1], "y": [2]}),
    "semicolons": ("x;y\n1;2\n3;4\n", {"x": [1, 3], "y": [2, 4]}),
    "tabs": ("x\ty\n1\t2\n3\t4\n", {"x": [1, 3], "y": [2, 4]}),
    "runs of spaces": ("  0   0  7\n  1  10  8\n", {"column 1": [0, 1], "column 2": [0, 10]}),
    "one column": ("x\n1\n2\n", {"x": [1, 2]}),
    "one column, no header": ("1.5\n2.5\n", {"column 1": [1.5, 2.5]}),
    "quotes": ('"a ""b"", c","y\nz"\n"1","2"\n', {'a "b", c': [1], "y?z": [2]}),
    "carriage returns": ("x,y\r\n1,2\r\n\r\n", {"x": [1], "y": [2]}),
    "empty lines": ("\n\nx,y\n1,2\n\n3,4\n\n\n", {"x": [1, 3], "y": [2, 4]}),
    "comment": ("# a, b, c\n# d\nx,y\n1,2\n", {"x": [1], "y": [2]}),
    "missing": ("x,y\n1,\nN/A, nan\n3,4\n", {"x": [1, NAN, 3], "y": [NAN, NAN, 4]}),
    "exponents": ("x\n1e3\n-2.5E-2\n+4\ninf\n", {"x": [1000, -0.025, 4, np.inf]}),
    "dates, no header": ("2020-01-01,5\n2020-01-02,6\n", {"column 2": [5, 6]}),
    "header with years": ("id,2020,2021\n7,1,2\n", {"id": [7], "2020": [1], "2021": [2]}),
    "index without name": (",x\n0,5\n1,6\n", {"column 1": [0, 1], "x": [5, 6]}),
    "decimal commas": ("a;b;c\n1,5;2;3\n2,5;2;3\n", {"b": [2, 2], "c": [3, 3]}),
    "text with spaces": ("who,x\nAnn B,1\nC D,2\n", {"x": [1, 2]}),
    "quotes over many lines": ('note,x\n"a' + "\n" * 80 + 'b",1\n', {"x": [1]}),
    "spaces before quotes": (' "a, b", "y"\n "1", "2"\n', {"a, b": [1], "y": [2]}),
    "a name below a number": ("1,x\n2,3\n", {"1": [2], "x": [3]}),
    "missing at the end": ("x,y\n1,2\n3,\n", {"x": [1, 3], "y": [2, NAN]}),
    "spaces after commas": ("x, y\n1, 2\n", {"x": [1], "y": [2]}),
}


@pytest.mark.parametrize("case", GOOD)
def test_text_is_read(tmp_path, case):
    text, expected = GOOD[case]
    found = columns(write(tmp_path, text))
    for name, values in expected.items():
        np.testing.assert_array_equal(found[name], values)


def test_what_is_left_out_is_said(tmp_path):
    text = 'day,x,money,code,none\n19-Sep-03,1,"1,200",20_25,\n20-Sep-03,2,5,20_26,\n'
    data = read_data(write(tmp_path, text))
    assert [c.name for c in data.columns] == ["x"]
    assert data.notes == (
        "skipped day: '19-Sep-03' in row 1 is not a number",
        "skipped money: '1,200' in row 1 is not a number",
        "skipped code: '20_25' in row 1 is not a number",
        "skipped none: it has no values",
    )


def test_a_name_cannot_control_the_terminal(tmp_path):
    assert list(columns(write(tmp_path, "a\x1b[31m,y\n1,2\n"))) == ["a?[31m", "y"]


def test_first_rows_only(tmp_path):
    path = write(tmp_path, "x,y\n1,2\n3,4\n5,6\n7\n")
    assert columns(path, 2) == {"x": [1, 3], "y": [2, 4]}
    path = write(tmp_path, "1,2\n3,4\nbeyond,it\n")
    assert columns(path, 2) == {"column 1": [1, 3], "column 2": [2, 4]}
    np.save(tmp_path / "a.npy", np.arange(10))
    assert columns(tmp_path / "a.npy", 3) == {"a": [0, 1, 2]}


def test_a_long_file_takes_seconds(tmp_path):
    line = "0.123456789012,-5.25e-3,77\n"
    path = write(tmp_path, "a,b,c\n" + line * 200_000)
    started = time.process_time()  # other processes of the tests do not count
    assert read_data(path).rows == 200_000
    assert time.process_time() - started < 5


REFUSED = {
    "no rows": ("\n\n# x\n", "no rows", f"name {FORMATS} with something in it"),
    "header": ("x,y\n", "a header without rows", f"name {FORMATS} with rows in it"),
    "ragged": (
        "x,y\n1,2\n\n3,4,5\n",
        "line 4 has 3 fields, the first row has 2",
        "give every row 2 fields (delimiter ',')",
    ),
    "short": (
        "# about\nx;y\n1;2\n3\n",
        "line 4 has 1 field, the first row has 2",
        "give every row 2 fields (delimiter ';')",
    ),
    "open quote": ('x,y\n1,"2\n', "line 2: unexpected end of data", "correct the quotes there"),
    "latin-1": (
        "n\xe4me,y\n1,2\n".encode("latin-1"),
        "text that is not UTF-8 (byte 0xe4)",
        "save it as UTF-8",
    ),
    "utf-16": (
        "x,y\n1,2\n".encode("utf-16"),
        "text that is not UTF-8 (byte 0xff)",
        "save it as UTF-8",
    ),
    "text only": (
        "name\nAnn\nBob\n",
        "no numeric column (skipped name: 'Ann' in row 1 is not a number)",
        "name a file with numbers in it",
    ),
    "empty": ("", "an empty file", f"name {FORMATS} with something in it"),
}


def refusal(path, seen, remedy):
    message = f"read the columns of {path}\n  seen: {seen}\n  instead: {remedy}"
    return pytest.raises(DataFileError, match=f"^{re.escape(message)}$")


@pytest.mark.parametrize("case", REFUSED)
def test_text_is_refused(tmp_path, case):
    text, seen, remedy = REFUSED[case]
    path = write(tmp_path, text)
    with refusal(path, seen, remedy):
        read_data(path)


def test_arrays_become_columns(tmp_path):
    both = np.zeros(5, [("day", "M8[D]"), ("low", ">f4"), ("volume", "i8")])
    np.savez(
        tmp_path / "a.npz",
        whole=np.arange(5, dtype=np.int16),
        pair=np.arange(10.0).reshape(5, 2),
        flag=np.array([True, False, True, True, False]),
        table=both,
        dx=np.float64(3),
        nothing=np.empty(0),
        z=np.zeros(5, complex),
        text=np.array(["a"] * 5),
        things=np.array([None] * 5, object),
        short=np.zeros(3),
    )
    data = read_data(tmp_path / "a.npz")
    values = {c.name: c.values.tolist() for c in data.columns}
    assert values == {
        "whole": [0, 1, 2, 3, 4],
        "pair[:, 0]": [0, 2, 4, 6, 8],
        "pair[:, 1]": [1, 3, 5, 7, 9],
        "flag": [1, 0, 1, 1, 0],
        "table.low": [0] * 5,
        "table.volume": [0] * 5,
    }
    assert {c.values.dtype for c in data.columns} == {np.dtype(np.float64)}
    assert sorted(data.notes) == [
        "skipped dx: a single number",
        "skipped nothing: it is empty",
        "skipped short: 3 rows, others have 5",
        "skipped table.day: dates",
        "skipped text: text",
        "skipped things: Python objects, which are not loaded from files",
        "skipped z: complex128 numbers",
    ]


def test_a_wide_array_is_one_column(tmp_path):
    wide = np.arange(130.0).reshape(2, 65)
    np.save(tmp_path / "wide.npy", wide)
    data = read_data(tmp_path / "wide.npy")
    assert [c.name for c in data.columns] == ["wide"]
    np.testing.assert_array_equal(data.columns[0].values, wide.ravel())
    assert data.notes == ("took wide, 2 x 65, as one column in row order",)
    assert data.kind == "NumPy array, 2 x 65 of float64 numbers"
    np.save(tmp_path / "wide.npy", wide[:, :64])
    assert len(read_data(tmp_path / "wide.npy").columns) == 64


def test_arrays_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([None, {}]), allow_pickle=True)
    seen = "an array of Python objects, which are not loaded from files"
    with refusal(path, seen, "save it with a numeric dtype"):
        read_data(path)
    path.write_bytes(b"not an array at all")
    seen = "neither an array nor an archive of arrays"
    with refusal(path, seen, "write it with numpy.save or savez"):
        read_data(path)
    np.save(path, np.zeros(4, complex))
    seen = "no numeric column (skipped a: complex128 numbers)"
    with refusal(path, seen, "name a file with numbers in it"):
        read_data(path)


def test_damaged_arrays_are_refused(tmp_path):
    whole = tmp_path / "whole.npz"
    np.savez_compressed(whole, x=np.random.default_rng(0).random(1000))
    raw = whole.read_bytes()
    bad = [raw[:-40], raw[:100], b"PK\x03\x04", raw[:300] + bytes(200) + raw[500:]]
    np.save(tmp_path / "a.npy", np.zeros(100))
    array = (tmp_path / "a.npy").read_bytes()
    cases = [("b.npz", text) for text in bad] + [("b.npy", array[:n]) for n in (3, 9, 60, 300)]
    cases.append(("b.npy", array.replace(b"(100,)", b"(10**9,)"[:6])))
    cases.append(("b.npy", array.replace(b"<f8", b"<q9")))
    for name, content in cases:
        with pytest.raises(DataFileError, match=r"seen: (a damaged file \(|neither an array)"):
            read_data(write(tmp_path, content, name))
    header = array[:128].replace(b"(100,), }      ", b"(9999999999999,)"[:15] + b"")
    with pytest.raises(DataFileError, match="seen: a "):
        read_data(write(tmp_path, header, "b.npy"))


def test_archive_of_other_things(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("readme.txt", "hello")
    seen = "no numeric column (skipped readme.txt: not an array)"
    with refusal(tmp_path / "a.npz", seen, "name a file with numbers in it"):
        read_data(tmp_path / "a.npz")
    with zipfile.ZipFile(tmp_path / "a.npz", "w"):
        pass
    with refusal(
        tmp_path / "a.npz", "no numeric column (no arrays)", "name a file with numbers in it"
    ):
        read_data(tmp_path / "a.npz")


def test_paths_are_refused(tmp_path):
    with refusal(tmp_path, "a folder", f"name {FORMATS}"):
        read_data(tmp_path)
    path = tmp_path / "none.csv"
    with refusal(path, "no such file", f"name {FORMATS}, or none for generated numbers"):
        read_data(path)
    for name, ending in (("a.xlsx", "'.xlsx'"), ("a", "''")):
        path = write(tmp_path, "1", name)
        with refusal(path, f"a name that ends in {ending}", f"name {FORMATS}"):
            read_data(path)
