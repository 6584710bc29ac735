"""The maps in docstrings of packages are true: what they name exists, and no pass is missing."""

import ast
import fnmatch
import re

import pytest

from tests.structure.sources import FOLDERS, ROOT, parsed, read_sources

FILE = re.compile(r"`((?:[\w]+/)*\w+\.py)`")
WORD = re.compile(r"`(\w+)`")


def unknown_files(path: str, text: str, files: set[str]) -> list[str]:
    """Files that the docstring of a package names, below the root or beside it, and that are not.

    `path` is that of the package's `__init__.py`.
    """
    folder = path.rpartition("/")[0]
    named = FILE.findall(ast.get_docstring(parsed(text)) or "")
    return [f"{path}: {name}" for name in named if not {name, f"{folder}/{name}"} & files]


def missing_verbs(text: str, files: list[str], order: list[str]) -> list[str]:
    """Files of passes/ that its map does not name, and passes that it names out of their order."""
    named = list(dict.fromkeys(WORD.findall(text)))
    patterns = [n.replace("*", "?*") for n in re.findall(r"`(\w+_\*)`", text)]
    found = [
        name
        for name in files
        if name not in named and not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)
    ]
    kept = [name for name in named if name in order]
    return found + [
        f"{name}: out of order" for name, due in zip(kept, order, strict=False) if name != due
    ]


def test_docstrings_name_files_that_exist():
    sources = read_sources(*FOLDERS, "tools")
    files = set(sources)
    packages = {path: text for path, text in sources.items() if path.endswith("__init__.py")}
    assert [
        line for path, text in packages.items() for line in unknown_files(path, text, files)
    ] == []


@pytest.mark.parametrize("room", ["", "/graph", "/views", "/loops", "/plan"])
def test_the_map_of_passes_has_each_file_in_order(room):
    from axiomjit.passes.pipeline import PASSES

    files = sorted(path.stem for path in (ROOT / f"passes{room}").glob("*.py"))
    text = ast.get_docstring(ast.parse((ROOT / f"passes{room}/__init__.py").read_text("utf-8")))
    order = [step.__name__ for step in PASSES if step.__name__ in files]
    assert missing_verbs(text or "", [f for f in files if f != "__init__"], order) == []


def test_the_page_of_the_architecture_names_what_exists():
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = {name for name in re.findall(r"`([\w/*.]+)`", text) if "/" in name}
    tops = (ROOT, ROOT / "axiomjit")
    assert len(named) > 20
    assert [name for name in sorted(named) if not any(list(top.glob(name)) for top in tops)] == []


@pytest.mark.parametrize(
    ("text", "missing"),
    [
        ("`fuse` then `order`, `print_*` show", []),
        ("`fuse`, `print_*` show", ["order"]),
        ("`order` then `fuse`, `print_*`", ["order: out of order", "fuse: out of order"]),
        ("`fuse`, `order`", ["print_loops"]),
    ],
)
def test_planted_maps_are_judged(text, missing):
    assert missing_verbs(text, ["fuse", "order", "print_loops"], ["fuse", "order"]) == missing


def test_planted_names_of_files_are_judged():
    text = '"""See `a.py`, `runtime/b.py` and `c.py`."""'
    files = {"runtime/a.py", "runtime/b.py"}
    assert unknown_files("runtime/__init__.py", text, files) == ["runtime/__init__.py: c.py"]
