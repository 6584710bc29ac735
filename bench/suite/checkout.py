"""Find the root of the clone: only a clone keeps results and charts, and has a commit."""

from __future__ import annotations

from pathlib import Path

import axiomjit
from axiomjit.base.errors import BenchError

PACKAGE = Path(axiomjit.__file__).resolve().parent


def checkout(package: Path = PACKAGE) -> Path | None:
    """Return the root of the clone that a package `axiomjit` is in, None for an installed one.

    Only in a clone axiomjit/bench is a link; wheels and source distributions have a folder.
    """
    return package.parent if (package / "bench").is_symlink() else None


def results_folder(asked: str, package: Path = PACKAGE) -> Path:
    """Return the folder in which results are kept.

    Args:
        asked: the command that needs it, for the message.
        package: the folder of the package.

    Raises:
        BenchError: this is not a clone.
    """
    root = checkout(package)
    if root is None:
        seen = f"axiomjit is installed in {package.parent}; only a clone keeps results"
        remedy = "name a file (`run --json FILE`, `report FILE`), or use a clone"
        raise BenchError(asked, seen, remedy)
    return root / "bench" / "results"
