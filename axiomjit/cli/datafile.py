"""Numeric columns of `.npy`, `.npz` and `.csv` files, for `axiomjit demo`."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.errors import DataFileError
from axiomjit.base.records import Record

Array = np.ndarray
FORMATS: Final = "a .npy, .npz or .csv file"
MOST_COLUMNS: Final = 64
"""A 2-D array with more columns than this is one long column."""
MISSING: Final = frozenset(("", "nan", "na", "n/a", "#n/a", "<na>", "null", "none", "-", "?", "."))
"""The texts of a cell without a value, in lower case."""
DELIMITERS: Final = "\t;|, "
"""In this order: text and numbers of some countries have commas in them, and most have spaces."""
SAMPLE_LINES: Final = 50


class Column(Record):
    """One column of a file as float64; a missing value is NaN."""

    name: str
    values: Array


class DataFile(Record):
    """The numeric columns of a file, all of one length, and what was left out, and why."""

    path: Path
    kind: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...]

    @property
    def rows(self) -> int:
        """The length of every column."""
        return len(self.columns[0].values)


class _Found:
    """Columns and notes while a file is being read."""

    def __init__(self, path: Path, rows: int | None) -> None:
        self.path, self.rows = path, rows
        self.columns: list[Column] = []
        self.notes: list[str] = []

    def skip(self, name: str, reason: str) -> None:
        self.notes.append(f"skipped {printable(name)}: {reason}")

    def add(self, name: str, values: Array) -> None:
        """Add a 1-D array, unless it has no elements."""
        values = np.array(values[: self.rows], np.float64)  # a contiguous copy
        if not len(values):
            self.skip(name, "it is empty")
        elif np.isnan(values).all():
            self.skip(name, "it has no values")
        else:
            self.columns.append(Column(printable(name), values))

    def finish(self, kind: str) -> DataFile:
        """Keep the columns of the length that most values have."""
        totals: dict[int, int] = {}
        for column in self.columns:
            length = len(column.values)
            totals[length] = totals.get(length, 0) + length
        if not totals:
            why = "; ".join(self.notes[:4]) or "no arrays"
            more = f"; and {len(self.notes) - 4} more" if len(self.notes) > 4 else ""
            fail(self.path, f"no numeric column ({why}{more})", "name a file with numbers in it")
        chosen = max(totals, key=lambda length: (totals[length], length))
        for column in self.columns:
            if len(column.values) != chosen:
                self.skip(column.name, f"{len(column.values):,} rows, others have {chosen:,}")
        columns = tuple(c for c in self.columns if len(c.values) == chosen)
        return DataFile(self.path, kind, columns, tuple(self.notes))


def printable(text: str, width: int = 40) -> str:
    """Text from a file on one short line, without control characters."""
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= width else f"{text[: width - 3]}..."


def fail(path: Path, seen: str, remedy: str) -> NoReturn:
    """Refuse a file."""
    raise DataFileError(f"read the columns of {path}", seen, remedy)


def read_data(path: Path, rows: int | None = None) -> DataFile:
    """Read the numeric columns of a file.

    Args:
        path: a `.npy`, `.npz` or `.csv` file.
        rows: how many rows to take at most, from the first.

    Raises:
        DataFileError: there is no such file, it is damaged, or no column of it is numeric.
    """
    suffix = path.suffix.lower()
    try:
        if path.is_dir():
            fail(path, "a folder", f"name {FORMATS}")
        if not path.exists():
            fail(path, "no such file", f"name {FORMATS}, or none for generated numbers")
        if suffix not in (".npy", ".npz", ".csv"):
            fail(path, f"a name that ends in {suffix!r}", f"name {FORMATS}")
        if not path.is_file():
            fail(path, "a device or a pipe", f"name {FORMATS}")
        if not path.stat().st_size:
            fail(path, "an empty file", f"name {FORMATS} with something in it")
        found = _Found(path, rows)
        return _read_csv(found) if suffix == ".csv" else _read_arrays(found)
    except OSError as error:
        reason = error.strerror or str(error)
        fail(path, reason[:1].lower() + reason[1:], "name a file that can be read")


# Arrays


def _read_arrays(found: _Found) -> DataFile:
    path = found.path
    with path.open("rb") as handle:
        try:
            loaded = np.load(handle, allow_pickle=False)
        except Exception as error:  # a damaged file makes NumPy and zipfile raise nearly anything
            _refuse_array(path, error)
        if isinstance(loaded, Array):
            _take_array(found, path.stem, loaded)
            return found.finish(f"NumPy array, {_shape_of(loaded)} of {_kind_of(loaded)}")
        for name in loaded.files:
            try:
                array = loaded[name]
            except Exception as error:  # as above
                if "Object arrays" not in str(error):
                    _refuse_array(path, error)
                found.skip(name, "Python objects, which are not loaded from files")
                continue
            if isinstance(array, Array):
                _take_array(found, name, array)
            else:
                found.skip(name, "not an array")
        count = len(loaded.files)
    return found.finish(f"NumPy archive of {count} array{'s' * (count != 1)}")


def _refuse_array(path: Path, error: Exception) -> NoReturn:
    text = str(error)
    if "Object arrays" in text:
        seen, remedy = "an array of Python objects", "save it with a numeric dtype"
        fail(path, f"{seen}, which are not loaded from files", remedy)
    if "pickled data" in text or "pickle" in text:
        fail(path, "neither an array nor an archive of arrays", "write it with numpy.save or savez")
    if isinstance(error, MemoryError):
        fail(path, "a header that asks for more memory than there is", "name a smaller file")
    what = printable(" ".join(text.split()) or type(error).__name__, 120)
    fail(path, f"a damaged file ({what})", "write it again with numpy.save or numpy.savez")


def _shape_of(array: Array) -> str:
    return " x ".join(f"{n:,}" for n in array.shape) or "a single number"


def _kind_of(array: Array) -> str:
    kinds = {"O": "Python objects", "U": "text", "S": "bytes", "M": "dates", "m": "time spans"}
    return kinds.get(array.dtype.kind) or f"{array.dtype.name} numbers"


def _take_array(found: _Found, name: str, array: Array) -> None:
    """The columns of an array, one per field of a structured one."""
    if array.dtype.names:
        for field in array.dtype.names:
            _take_array(found, f"{name}.{field}", array[field])
    elif array.dtype.kind not in "biuf":
        found.skip(name, _kind_of(array))
    elif array.ndim == 0:
        found.skip(name, "a single number")
    elif array.ndim == 2 and 0 < array.shape[1] <= MOST_COLUMNS:
        for j in range(array.shape[1]):
            found.add(f"{name}[:, {j}]", array[:, j])
    else:
        if array.ndim > 1 and array.size:
            shape = _shape_of(array)
            found.notes.append(f"took {printable(name)}, {shape}, as one column in row order")
        found.add(name, array.reshape(-1))


# Text


def _read_csv(found: _Found) -> DataFile:
    path = found.path
    try:
        with path.open(encoding="utf-8-sig") as handle:
            lines = handle.readlines()
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        fail(path, f"text that is not UTF-8 (byte 0x{bad:02x})", "save it as UTF-8")
    skipped = len(list(takewhile(lambda line: not line.strip() or line.startswith("#"), lines)))
    if skipped == len(lines):
        fail(path, "no rows", f"name {FORMATS} with something in it")
    delimiter = _delimiter(lines[skipped : skipped + SAMPLE_LINES])
    cells = _table(found, lines, skipped, delimiter)
    if skipped:
        found.notes.append(f"skipped {skipped} line{'s' * (skipped > 1)} before the first row")
    header = _has_header(cells)
    if len(cells) == header:
        fail(path, "a header without rows", f"name {FORMATS} with rows in it")
    for j, column in enumerate(cells[header:].T):
        name = (cells[0, j].strip() if header else "") or f"column {j + 1}"
        numbers = _numbers(column[: found.rows])
        if isinstance(numbers, int):
            cell = printable(column[numbers].strip(), 24)
            found.skip(name, f"{cell!r} in row {numbers + 1:,} is not a number")
        else:
            found.add(name, numbers)
    shown = {"\t": "tab", " ": "space"}.get(delimiter, f"'{delimiter}'")
    return found.finish(f"text, delimiter {shown}, {cells.shape[1]} columns")


def _cells(lines: Iterable[str], delimiter: str, rows: int | None = None) -> Array:
    """The cells of a table as text; empty lines are left out.

    Raises:
        ValueError: a row is longer or shorter than the first.
    """
    spaced = re.compile(rf'(^|{re.escape(delimiter)}) +"')  # NumPy takes quotes without spaces
    plain = (spaced.sub(r'\1"', line) if ' "' in line else line for line in lines)
    separator = None if delimiter == " " else delimiter
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of empty lines, which are not counted
        return np.loadtxt(
            plain, object, None, separator, quotechar='"', ndmin=2, max_rows=rows, encoding=None
        )


def _delimiter(head: Sequence[str]) -> str:
    """The character that separates the fields; a comma where nothing else is evident.

    The first candidate with which the first lines make a table, else the one that the first row has
    most of.
    """
    for delimiter in DELIMITERS:
        with suppress(ValueError):
            if _cells(head, delimiter).shape[1] > 1:
                return delimiter
    return max(",;\t|", key=lambda delimiter: _cells(head, delimiter, 1).shape[1])


def _table(found: _Found, lines: Sequence[str], skipped: int, delimiter: str) -> Array:
    """The cells; one row more than asked for, in case the first is a header."""
    rest = iter([*lines[skipped:], "\n"])
    try:
        cells = _cells(rest, delimiter, None if found.rows is None else found.rows + 1)
    except ValueError as error:
        counts = re.search(r"from (\d+) to (\d+) at", str(error))
        if counts is None:
            raise
        (width, here), at = counts.groups(), len(lines) + 1 - len(list(rest))
        fail(
            found.path,
            f"line {at:,} has {here} field{'s' * (here != '1')}, the first row has {width}",
            f"give every row {width} fields (delimiter {delimiter!r})",
        )
    if cells[-1, -1].endswith("\n") and "".join(lines).count('"') % 2:
        fail(found.path, f"line {len(lines):,}: unexpected end of data", "correct the quotes there")
    return cells


def _has_header(cells: Array) -> bool:
    """Whether the first row has names: it has no number, or a text above a number."""
    first = [_number(cell) for cell in cells[0]]
    texts = [column for column, number in zip(cells.T, first, strict=True) if number is None]
    below = ((v for v in map(_number, column[1:]) if v is None or v == v) for column in texts)
    numbers = any(number is not None and number == number for number in first)
    return bool(texts) and (not numbers or any(next(v, None) is not None for v in below))


def _number(cell: str) -> float | None:
    """A cell's value, NaN for a missing one; None for text."""
    if cell.strip().lower() in MISSING:
        return math.nan
    try:  # Python reads 20_25 as a number; in a file it is a name or a date
        return None if "_" in cell else float(cell)
    except ValueError:
        return None


def _numbers(cells: Array) -> Any:
    """The values of a column, or the index of the first cell that is not a number."""
    if "_" not in "".join(cells):
        with suppress(ValueError):
            return np.where(cells == "", "nan", cells).astype(np.float64)
    values = [_number(cell) for cell in cells]
    return values.index(None) if None in values else np.array(values)
