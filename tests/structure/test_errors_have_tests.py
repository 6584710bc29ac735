"""Every error class has a test on its message."""

import ast
import inspect
from collections.abc import Iterable

import pytest

from axiomjit.base import errors
from tests.structure.sources import nodes_of, read_sources

CHECKS = ("pytest.raises", "pytest.warns")


def matched_names(source: str) -> set[str]:
    """Classes that a `pytest.raises(...)` or `pytest.warns(...)` with `match=` names."""
    names = set()
    for node in nodes_of(source):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in CHECKS:
            continue
        if any(keyword.arg == "match" for keyword in node.keywords):
            inside = [part for arg in node.args for part in ast.walk(arg)]
            names |= {part.id for part in inside if isinstance(part, ast.Name)}
            names |= {part.attr for part in inside if isinstance(part, ast.Attribute)}
    return names


def untested(classes: Iterable[str], sources: Iterable[str]) -> list[str]:
    """Classes that no source matches a message of."""
    return sorted(set(classes) - set().union(*map(matched_names, sources)))


def test_every_error_has_a_test():
    classes = [
        name
        for name, value in inspect.getmembers(errors, inspect.isclass)
        if issubclass(value, BaseException) and value.__module__ == errors.__name__
    ]
    assert classes
    assert untested(classes, read_sources("tests").values()) == []


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("with pytest.raises(AxesError, match='batch'): f()", []),
        ("with pytest.raises((errors.AxesError, TypeError), match='batch'): f()", []),
        ("with pytest.warns(AxesError, match='batch'): f()", []),
        ("with pytest.raises(AxesError): f(match='batch')", ["AxesError"]),
        ("with pytest.raises(TypeError, match='AxesError'): f()", ["AxesError"]),
        ("# pytest.raises(AxesError, match='batch')", ["AxesError"]),
    ],
)
def test_planted_source_is_judged(source, missing):
    assert untested(["AxesError"], [source]) == missing
