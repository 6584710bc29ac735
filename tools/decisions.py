"""Write the index of decisions: `python -m tools.decisions`, from the root of a clone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "decisions"
HEAD: Final = re.compile(r"# (.+)\n\n(\d{4}-\d\d-\d\d) · (.+)\n\n(?=\S)")
"""The title of a decision, its date and its area."""
AREAS: Final = (
    "Language",
    "Graph and passes",
    "Runtime and code generation",
    "Elementary functions",
    "Benchmarks",
)
INTRODUCTION: Final = """# Decisions

Each file is a decision, the measurement that made it, and its date: what was chosen and what was
not, the command and figures that decided (a ratio against a peer in the same run), and the day they
were taken. Numbers grow with time, the newest is the last. A decision that no longer holds stays,
with a pointer to the one that replaces it. Paths and names of packages, modules and functions in a
decision are those of its day; most have changed since. All on 2 cores of a shared machine with
AVX-512, numba 0.68.1, llvmlite 0.50 (LLVM 22), NumPy 2.4.6.

To add one: the next number and the title as name, 20 to 60 lines, the date and an area of this page
in the third line; then `python -m tools.decisions` writes this page.
"""


def index(texts: dict[str, str]) -> str:
    """The page that lists decisions by area, from the text of each file by its name.

    Raises:
        ValueError: a file does not begin with title, date and a known area, or numbers have a gap.
    """
    lines: dict[str, list[str]] = {area: [] for area in AREAS}
    for number, (name, text) in enumerate(sorted(texts.items()), 1):
        head = HEAD.match(text)
        if head is None or head[3] not in lines:
            raise ValueError(f"{name}: begins with no title, date and area of {AREAS}")
        if not name.startswith(f"{number:04d}-"):
            raise ValueError(f"{name}: its number is not {number:04d}")
        lines[head[3]].append(f"- [{number:04d}]({name}) {head[1]} ({head[2]})")
    parts = [f"## {area}\n\n" + "\n".join(lines[area]) for area in AREAS if lines[area]]
    return "\n".join([INTRODUCTION, "\n\n".join(parts), ""])


def read_decisions() -> dict[str, str]:
    """The text of each decision by the name of its file."""
    return {path.name: path.read_text("utf-8") for path in FOLDER.glob("[0-9]*.md")}


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(index(read_decisions()), "utf-8")
