"""The list of cases is frozen, every case runs in NumPy, and own functions are taken or refused."""

import re

import numpy as np
import pytest

from axiomjit.base.errors import BenchError, GraphValueError
from axiomjit.bench.report.table import list_cases
from axiomjit.bench.suite.cases import CASES, find
from axiomjit.bench.suite.worker import disagreement
from axiomjit.bench.suite.workload import prange, with_module

GROUPS = [
    *("map", "math-bound", "reductions", "rows", "scans", "broadcast-reduce", "contractions"),
    *("stencils", "layouts", "dtypes", "small"),
]


def test_the_list_is_frozen(golden):
    golden(list_cases(CASES))


def test_groups_and_names():
    assert list(dict.fromkeys(case.group for case in CASES)) == GROUPS
    assert 40 <= len(CASES) <= 60
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_forms_agree_and_arguments_are_left_alone(case):
    """Loop forms in plain Python on a small part, einsum in NumPy, argument builders repeat."""
    arguments, again = case.arguments(3), case.arguments(3)
    assert all(np.array_equal(a, b) for a, b in zip(arguments, again, strict=True))
    expected = case.function(*arguments)
    assert all(np.array_equal(a, b) for a, b in zip(arguments, again, strict=True))
    if case.einsum:
        assert disagreement(np.einsum(case.einsum, *arguments, optimize=True), expected) == ""
    if case.loops:
        small = [a[tuple(slice(0, 16) for _ in a.shape)] for a in arguments]
        assert disagreement(case.loops(*small), case.function(*small)) == ""


def test_find():
    assert find([]) == CASES
    assert [case.name for case in find(["scans", "axpy", "scans"])] == [
        "running_sum",
        "drawdown",
        "axpy",
    ]
    with pytest.raises(BenchError, match="no case or group of that name"):
        find(["axpi"])


CODE = """\
import numpy as np


def norm(x, y):
    return np.sqrt((x - y) ** 2).sum()


def norm_inputs(rng):
    return rng.random(10), rng.random(10)


norm_numexpr = "sum(sqrt((x - y) ** 2))"


def with_defaults(x=np.ones(3), scale=2.0):
    return x * scale


def bare(x, y):
    return x + y


def one(x):
    return x + 1


def one_inputs():
    return np.ones(4)


def writes(x):
    x += 1
    return x


def writes_inputs():
    return np.zeros(3)


def random_start(x):
    return x


def random_start_inputs():
    return np.random.default_rng().random(3)


def fails(x):
    return x.nothing


def fails_inputs():
    return np.zeros(3)


def twice(x):
    return one(x) * 2
"""


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(CODE)
    return path


def test_own_functions(code):
    norm, defaults, one = find([f"{code}:{name}" for name in ("norm", "with_defaults", "one")])
    assert [a.shape for a in norm.arguments(0)] == [(10,), (10,)]
    assert norm.numexpr == "sum(sqrt((x - y) ** 2))"
    assert (norm.group, norm.name) == ("own", f"{code}:norm")
    assert norm.text == "np.sqrt((x - y) ** 2).sum()"
    assert defaults.function(*defaults.arguments(0)).tolist() == [2, 2, 2]
    assert len(one.arguments(0)) == 1


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("bare", r"no arguments for x, y\n  instead: define bare_inputs\(rng\) in the file, which"),
        ("writes", "x is not the same after a call"),
        ("random_start", "x is not the same after a call, or in a second set of arguments"),
        ("fails", "the call in NumPy: AttributeError"),
    ],
)
def test_own_functions_that_cannot_be_measured(code, name, message):
    with pytest.raises(BenchError, match=message):
        find([f"{code}:{name}"])


def test_own_functions_that_are_not_there(code):
    with pytest.raises(GraphValueError, match="no function norms in"):
        find([f"{code}:norms"])
    with pytest.raises(GraphValueError, match="no file"):
        find(["nothing.py:norm"])


def test_modules_are_replaced_in_helpers_too(code):
    find([f"{code}:one"])
    space: dict = {}
    exec(compile(CODE, str(code), "exec"), space)
    other = type("Other", (), {"ones": staticmethod(lambda n: "ones")})
    exec("def inner():\n    return np.ones(2)\ndef outer():\n    return inner()\n", space)
    assert with_module(space["outer"], {id(np): other})() == "ones"
    assert re.match(r"\[1. 1.\]", str(space["outer"]()))
    assert prange is range
