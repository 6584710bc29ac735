"""Numeric columns of `.npy`, `.npz` and `.csv` files, for `axiomjit demo`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final, NoReturn, TextIO

import numpy as np

from axiomjit.base.errors import DataFileError
from axiomjit.base.records import Record

Array = np.ndarray
FORMATS: Final = "a .npy, .npz or .csv file"
MOST_COLUMNS: Final = 64
"""A 2-D array with more columns than this is one long column."""
MISSING: Final = frozenset(("", "nan", "na", "n/a", "#n/a", "<na>", "null", "none", "-", "?", "."))
"""What a cell without a value may hold, in lower case."""
DELIMITERS: Final = "\t;|, "
"""In this order: text and numbers of some countries have commas in them, and most have spaces."""
SAMPLE_LINES, BLOCK_ROWS = 50, 4096


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
        """Take a 1-D array, unless nothing is in it."""
        values = np.array(values[: self.rows], np.float64)  # a copy, dense
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
        with path.open(encoding="utf-8-sig", newline="") as handle:
            head, comments = _head(handle)
            if not head:
                fail(path, "no rows", f"name {FORMATS} with something in it")
            delimiter = _delimiter(head)
            lines = chain(head, handle)
            columns = _table(found, lines, delimiter, comments)
    except UnicodeDecodeError as error:
        bad = error.object[error.start]
        fail(path, f"text that is not UTF-8 (byte 0x{bad:02x})", "save it as UTF-8")
    if comments:
        found.notes.append(f"skipped {comments} line{'s' * (comments > 1)} before the first row")
    names = _names(columns)
    if not columns[0]:
        fail(path, "a header without rows", f"name {FORMATS} with rows in it")
    for name, column in zip(names, columns, strict=True):
        numbers = _numbers(column)
        if isinstance(numbers, int):
            cell = printable(column[numbers], 24)
            found.skip(name, f"{cell!r} in row {numbers + 1:,} is not a number")
        else:
            found.add(name, numbers)
    shown = {"\t": "tab", " ": "space"}.get(delimiter, f"'{delimiter}'")
    return found.finish(f"text, delimiter {shown}, {len(names)} columns")


def _head(handle: TextIO) -> tuple[list[str], int]:
    """The first lines from the first row on, and how many lines of comment came before."""
    comments = 0
    head: list[str] = []
    for line in handle:
        if not head and (not line.strip() or line.startswith("#")):
            comments += 1
            continue
        head.append(line)
        if len(head) == SAMPLE_LINES:
            break
    return head, comments


def _delimiter(head: Sequence[str]) -> str:
    """What separates the fields; a comma where nothing else is evident.

    The first candidate that makes a table of the first lines, else the one that the first row
    has most of. (csv.Sniffer finds no comma in "x,y" above "1,2" and an empty line.)
    """
    first: dict[str, int] = {}
    for delimiter in DELIMITERS:
        reader = csv.reader(head, delimiter=delimiter, skipinitialspace=True)
        try:
            widths = [len(row) for row in reader if row]
        except csv.Error:
            continue
        if len(head) == SAMPLE_LINES and len(widths) > 1:
            widths.pop()  # it may have been cut within quotes
        if widths and widths[0] > 1 and len(set(widths)) == 1:
            return delimiter
        if widths and delimiter != " ":
            first[delimiter] = widths[0]
    best = max(first, key=first.__getitem__, default=",")
    return best if first.get(best, 1) > 1 else ","


def _table(found: _Found, lines: Iterable[str], delimiter: str, before: int) -> list[list[str]]:
    """The cells of each column; every row is as long as the first, empty lines are left out."""
    path = found.path
    reader = csv.reader(lines, delimiter=delimiter, skipinitialspace=True, strict=True)
    columns: list[list[str]] = []
    block: list[list[str]] = []  # few lists at once: a million would keep the collector busy
    try:
        for row in _rows(reader, found.rows):
            if not columns:
                columns = [[] for _ in row]
            if len(row) != len(columns):
                at, width = before + reader.line_num, len(columns)
                fields = "field" if len(row) == 1 else "fields"
                fail(
                    path,
                    f"line {at:,} has {len(row)} {fields}, the first row has {width}",
                    f"give every row {width} fields (delimiter {delimiter!r})",
                )
            block.append(row)
            if len(block) == BLOCK_ROWS:
                _add_rows(columns, block)
    except csv.Error as error:
        fail(path, f"line {before + reader.line_num:,}: {error}", "correct the quotes there")
    _add_rows(columns, block)
    return columns


def _add_rows(columns: list[list[str]], block: list[list[str]]) -> None:
    """Move rows into columns."""
    if block:
        for column, cells in zip(columns, zip(*block, strict=True), strict=True):
            column.extend(cells)
        block.clear()


def _rows(reader: Iterator[list[str]], rows: int | None) -> Iterator[list[str]]:
    """Rows that are not empty; one more than asked for, in case the first is a header."""
    filled = (row for row in reader if row)
    return filled if rows is None else islice(filled, rows + 1)


def _names(columns: Sequence[list[str]]) -> list[str]:
    """The names of the columns; a header is taken off them.

    The first row is a header if it holds no number at all, or if in some column it holds text
    above a number.
    """
    filled = [c for c in columns if c[0].strip().lower() not in MISSING]
    texts = [c for c in filled if not _is_number(c[0])]
    header = bool(texts) and len(texts) == len(filled)
    for column in texts:
        below = (cell for cell in islice(column, 1, None) if cell.strip().lower() not in MISSING)
        header = header or _is_number(next(below, "text"))
    first = [c.pop(0).strip() for c in columns] if header else [""] * len(columns)
    return [name or f"column {j + 1}" for j, name in enumerate(first)]


def _is_number(cell: str) -> bool:
    try:
        return not math.isnan(_number(cell))
    except ValueError:
        return False


def _number(cell: str) -> float:
    """A cell's value; NaN for a missing one."""
    try:
        if "_" not in cell:  # Python reads 20_25 as a number; in a file it is a name or a date
            return float(cell)
    except ValueError:
        pass
    if cell.strip().lower() in MISSING:
        return math.nan
    raise ValueError(cell)


def _numbers(cells: Sequence[str]) -> Any:
    """The values of a column, or the number of the first cell that is none."""
    if "_" not in "".join(cells):
        try:
            return np.array([float(cell) if cell else math.nan for cell in cells])
        except ValueError:
            pass
    values = np.empty(len(cells))
    for k, cell in enumerate(cells):
        try:
            values[k] = _number(cell)
        except ValueError:
            return k
    return values
