"""Write rows into the tables of docs/accuracy.md, for the commands that measure them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from axiomjit.base.errors import BenchError

PAGE: Final = Path(__file__).resolve().parents[2] / "docs" / "accuracy.md"
Row = tuple[str, list[str]]
"""The name of a row, and its figures."""


def replace_rows(page: Path, mark: str, rows: Iterable[Row], order: Sequence[str]) -> None:
    """Write rows into the table between two comments; rows of other names are kept.

    Args:
        page: the document.
        mark: the name in the comments, `<!-- mark -->` and `<!-- end of mark -->`; the lines
            between them are a table's heading, its rule, and rows.
        rows: the new rows, with as many figures as the heading has columns.
        order: names in the order of the table.

    Raises:
        BenchError: there is no such table, or its heading has other columns.
    """
    text = page.read_text(encoding="utf-8")
    start, end = f"<!-- {mark} -->\n", f"<!-- end of {mark} -->"
    before, found, rest = text.partition(start)
    inner, ended, after = rest.partition(end)
    if not (found and ended):
        raise BenchError(
            f"the table `{mark}` of {page.name}",
            "it has no such comments",
            f"put the heading of a table between {start.strip()} and {end}",
        )
    heading, rule, *old = inner.strip().splitlines()
    lines = {line.split("|")[1].strip(): line for line in old}
    columns = heading.count("|") - 2
    for name, figures in rows:
        if len(figures) != columns:
            raise BenchError(
                f"{len(figures)} figures for {name}",
                f"the table `{mark}` of {page.name} has {columns}",
                "write its heading anew",
            )
        lines[name] = "| " + " | ".join([name, *figures]) + " |"
    made = [heading, rule, *(lines[name] for name in order if name in lines)]
    page.write_text("".join([before, start, "\n".join(made), "\n", end, after]), encoding="utf-8")
