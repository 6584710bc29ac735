"""Programs in the style of their authors, unchanged, with lazy arrays as arguments."""

import numpy
import pytest

from axiomjit.base.config import config
from axiomjit.numpy import programs
from axiomjit.numpy.lazy_arrays import LazyArray, wrap
from axiomjit.numpy.segments import look
from tests.generator.alike import Comparison
from tests.programs.table import PROGRAMS
from tests.programs.test_programs import calls_of


def replaced(value, replace, seen):
    """A value with arrays replaced in containers and in attributes of the programs' instances.

    What occurs twice is replaced once; dicts and instances are changed themselves.
    """
    if id(value) in seen:
        return seen[id(value)]
    if type(value) in (tuple, list):
        return type(value)(replaced(one, replace, seen) for one in value)
    parts = value if type(value) is dict else getattr(value, "__dict__", None)
    if parts is not None and type(value).__module__.startswith(("tests.", "builtins")):
        seen[id(value)] = value
        parts.update({name: replaced(one, replace, seen) for name, one in parts.items()})
        return value
    return seen.setdefault(id(value), replace(value))


def lazy(value):
    """A lazy array for one of NumPy's."""
    return wrap(value) if type(value) is numpy.ndarray else value


def known(value):
    """The value of a lazy array."""
    return look(value) if type(value) is LazyArray else value


def difference(program, passes):
    """The first difference of results and arguments from NumPy's, over a number of passes."""
    for _ in range(passes):
        plain, calls = calls_of(program), replaced(calls_of(program), lazy, {})
        wanted = [program.function(*arguments) for arguments in plain]
        found = [program.function(*arguments) for arguments in calls]
        compared = Comparison(program.function.__module__)
        told = compared.differs(replaced((found, calls), known, {}), (wanted, plain), program.name)
        if told is not None:
            return told
    return None


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs_in_numpy(program, monkeypatch):
    monkeypatch.setattr(config, "lazy_from", 1)
    assert difference(program, 3) is None


COMPILED = ("kepler", "wave", "rk4", "softmax", "adam")


@pytest.mark.parametrize(
    "program", [one for one in PROGRAMS if one.name in COMPILED], ids=lambda one: one.name
)
def test_compiled_programs(program, monkeypatch):
    monkeypatch.setattr(config, "lazy_from", 1)
    for name in ("COMPILE_S", "STATEMENT_S", "LOWER_S"):
        monkeypatch.setattr(programs, name, 0.0)
    assert difference(program, 4) is None
