"""What was once done in several ways exists once: walks over lengths, guards, versions."""

import ast

import pytest

from tests.structure.sources import FOLDERS, read_sources

PLACES = {
    "Binary": {"axiomjit/symbolic/dims.py"},
    "_version": {"axiomjit/graph/storages.py"},
}
"""Names that only the one place uses which walks a length or keeps a version.

Who reads `Binary` takes quotients, minima and maxima apart; all others call `Dim.fold`.
"""


def users(sources, name):
    """The files that use a name, as a variable, an attribute or an import."""
    found = set()
    for path, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if name in (getattr(node, field, None) for field in ("id", "attr", "name")):
                found.add(path)
    return found


@pytest.mark.parametrize("name", list(PLACES))
def test_only_one_place_uses(name):
    assert users(read_sources(*FOLDERS), name) == PLACES[name]


def test_comparisons_of_lengths_are_guards():
    """One class of the tree has the fields of a comparison that is checked later."""
    found = []
    for path, source in read_sources(*FOLDERS).items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef):
                fields = {getattr(one.target, "id", "") for one in node.body if is_field(one)}
                found += [(path, node.name)] if {"left", "right", "outcome"} <= fields else []
    assert found == [("axiomjit/symbolic/dims.py", "Guard")]


def is_field(statement):
    """Whether a statement of a class declares a field."""
    return isinstance(statement, ast.AnnAssign)


def test_users_are_found():
    sources = {"a.py": "from b import Binary", "b.py": "x = d.Binary", "c.py": "Binaries = 1"}
    assert users(sources, "Binary") == {"a.py", "b.py"}
