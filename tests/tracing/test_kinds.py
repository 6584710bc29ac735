"""What stands for an array says that it is one; what it refuses is raised, whoever caught it."""

import collections
import contextlib
import copy
import enum
import functools
import math
import numbers
import pickle
import warnings
from collections.abc import Iterable

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, GraphTypeError, NeedsValuesError, UnsupportedError
from tests.passes.graphs import follow_plainly as follow

X = np.arange(1.0, 43.0).reshape(6, 7)

pytestmark = pytest.mark.usefixtures("in_numpy")

TYPES = (
    *(np.ndarray, np.generic, np.number, np.floating, np.float64, np.float32, np.int64, np.bool),
    *(np.complexfloating, np.integer, float, int, complex, bool, str, list),
    *(numbers.Number, numbers.Complex, numbers.Real, numbers.Integral, Iterable),
)
VALUES = {
    "array": lambda x, k, n, z: x,
    "computed array": lambda x, k, n, z: x * 2 + k,
    "integers": lambda x, k, n, z: x.astype(int),
    "row": lambda x, k, n, z: x[0],
    "element": lambda x, k, n, z: x[0, 0],
    "element as a view": lambda x, k, n, z: x[0, 0, ...],
    "squeezed": lambda x, k, n, z: x[:1, 0].squeeze(),
    "reduction": lambda x, k, n, z: x.max(),
    "test": lambda x, k, n, z: x.any(),
    "single": lambda x, k, n, z: x.astype("f4").sum(),
    "complex": lambda x, k, n, z: (x * 1j).sum(),
    "number": lambda x, k, n, z: k,
    "arithmetic of numbers": lambda x, k, n, z: k * 2.0 - 1,
    "number and length": lambda x, k, n, z: k * n,
    "complex number": lambda x, k, n, z: z,
    "integer": lambda x, k, n, z: n,
    "integer arithmetic": lambda x, k, n, z: n * 2 + 1,
    "length": lambda x, k, n, z: x.shape[0],
    "size": lambda x, k, n, z: x.size,
}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_isinstance(name, kind):
    def function(x, k, n, z):
        return x[0] if isinstance(VALUES[name](x, k, n, z), kind) else -x[0]

    arguments = X, 2.5, 9, 1j
    result = axiomjit.jit(function, strict=True)(*arguments)
    np.testing.assert_array_equal(result, function(*arguments))


QUESTIONS = {
    "isscalar": np.isscalar,
    "iterable": np.iterable,
    "ndim": lambda v: np.ndim(v) == 0,
    "shape": lambda v: np.shape(v) == (),
    "size": lambda v: np.size(v) == 1,
    **{
        f"has {name}": functools.partial(lambda name, v: hasattr(v, name), name)
        for name in (
            *("tolist", "shape", "ndim", "dtype", "T", "real", "imag", "sum", "astype", "item"),
            *("is_integer", "bit_length", "hex", "conjugate", "append", "nbytes", "values"),
        )
    },
    "dispatches": lambda v: _dispatched(v) == "array",
    "matches": lambda v: _matched(v) == "array",
}


@functools.singledispatch
def _dispatched(value):
    return "other"


@_dispatched.register
def _(value: np.ndarray):
    return "array"


def _matched(value):
    match value:
        case np.ndarray():
            return "array"
        case float() | int():
            return "number"


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("question", QUESTIONS)
def test_questions_about_a_value(name, question):
    def function(x, k, n, z):
        return x[0] if QUESTIONS[question](VALUES[name](x, k, n, z)) else -x[0]

    arguments = X, 2.5, 9, 1j
    result = axiomjit.jit(function, strict=True)(*arguments)
    np.testing.assert_array_equal(result, function(*arguments))


def test_scalars_and_arrays_without_dimensions_are_told_apart():
    f = axiomjit.jit(lambda x, s: x if isinstance(s, np.ndarray) else -x)
    for _ in range(2):
        np.testing.assert_array_equal(f(X, np.float64(2.0)), -X)
        np.testing.assert_array_equal(f(X, np.array(2.0)), X)
        np.testing.assert_array_equal(f(X, 2.0), -X)


class Mode(enum.IntEnum):
    A = 1
    B = 2


class Bits(enum.IntFlag):
    A = 1
    B = 2


class Rate(float, enum.Enum):
    LOW = 0.5
    HIGH = 2.0


class Metres(float):
    pass


class Count(int):
    pass


class Name(str):
    pass


class Plain(enum.Enum):
    A = 1
    B = 2


STATIC = [
    (lambda m: m is Mode.B, [Mode.A, Mode.B, 2, Mode.A]),
    (lambda m: m is Bits.B or m == Bits.A | Bits.B, [Bits.A, Bits.B, Bits.A | Bits.B, 3]),
    (lambda m: m is Rate.HIGH, [Rate.LOW, Rate.HIGH, 2.0, Rate.LOW]),
    (lambda m: m is Plain.B, [Plain.A, Plain.B, Plain.A]),
    (lambda m: type(m) is Metres and m > 1, [Metres(0.5), Metres(2.0), Metres(0.5)]),
    (lambda m: type(m) is Count and m > 1, [Count(1), Count(2), 2, Count(1)]),
    (lambda m: m == "b", [Name("a"), Name("b"), "a", "b"]),
    (lambda m: m is True, [True, False, True]),
]


@pytest.mark.parametrize(("test", "values"), STATIC, ids=lambda v: type(v).__name__)
def test_enums_and_subclasses_of_numbers_are_static(test, values):
    def function(x, m):
        return x if test(m) else -x

    f = axiomjit.jit(function, strict=True)
    for value in values * 2:
        np.testing.assert_array_equal(f(X, value), function(X, value))


def on_except(*kinds):
    def swallow(action):
        with contextlib.suppress(*kinds):
            return action()

    return swallow


def on_base_exception(action):
    try:
        return action()
    except BaseException:  # noqa: BLE001
        return None


def on_finally(action):
    with contextlib.ExitStack() as stack:
        stack.push(lambda *error: True)
        return action()


def on_another(action):
    try:
        return action()
    except Exception as error:
        raise LookupError("the user's own") from error


SWALLOWS = {
    "TypeError": on_except(TypeError),
    "Exception": on_except(Exception),
    "AttributeError": on_except(TypeError, AttributeError),
    "BaseException": on_base_exception,
    "exit stack": on_finally,
    "another error": on_another,
}
NEED_VALUES = {
    "index": lambda x: [1, 2, 3][x.astype(int)[0, 0]],
    "asarray": lambda x: np.asfortranarray(x),
    "array": lambda x: np.array([x.max(), 1.0], order="F"),
    "tolist": lambda x: x.tolist(),
    "item": lambda x: x.max().item(),
    "gamma": lambda x: math.gamma(x.max()),
    "is_integer": lambda x: x.max().is_integer(),
    "bytes": lambda x: x.tobytes(),
    "text": lambda x: f"{x.max():.3f}".upper(),
    "sorted": lambda x: sorted(x[0]),
    "membership": lambda x: 3.0 in x,
    "key": lambda x: {3.0: 1}.get(x.max()),
    "pickle": lambda x: pickle.dumps(x),
    "shape write": lambda x: setattr(x, "shape", (7, 6)),
    "out": lambda x: x.sum(0, out=x.astype("f4")[0]),
}
UNSUPPORTED = {
    "method": lambda x: x.byteswap(),
    "attribute": lambda x: hasattr(x, "data") or x.data,
    "function": lambda x: np.unwrap(x),
    "option": lambda x: x.std(where=x > 1),
    "zeros": lambda x: np.trim_zeros(x[0]),
    "order": lambda x: x.copy("A"),
    "accumulate": lambda x: np.hypot.accumulate(x),
}


@pytest.mark.parametrize("swallow", SWALLOWS)
@pytest.mark.parametrize("name", [*NEED_VALUES, *UNSUPPORTED])
@pytest.mark.usefixtures("refusing")
def test_a_refusal_is_raised_whoever_caught_it(name, swallow):
    asked = {**NEED_VALUES, **UNSUPPORTED}[name]

    def function(x):
        found = SWALLOWS[swallow](lambda: asked(x))
        return -x if found is None else x * 2

    unknown = name in NEED_VALUES or swallow == "exit stack"
    kind = NeedsValuesError if unknown else UnsupportedError
    with pytest.raises(kind, match=r"test_kinds\.py:\d+: .+\n  seen: .+\n  instead: .+"):
        axiomjit.jit(function, strict=True)(X.copy())


@pytest.mark.parametrize("name", [n for n in NEED_VALUES if n != "pickle"])
def test_what_caught_a_refusal_runs_right_in_numpy(name):
    def function(x):
        try:
            found = NEED_VALUES[name](x)
        except Exception:
            return -x
        return x * 2 + (found is None)

    expected = function(X.copy())
    with pytest.warns(FallbackWarning, match="runs in NumPy"):
        np.testing.assert_array_equal(axiomjit.jit(function)(X.copy()), expected)


def test_an_element_type_that_is_not_compiled_cannot_be_caught():
    def function(x):
        try:
            return x.astype("g")
        except TypeError:
            return -x

    with pytest.raises(GraphTypeError, match="elements of dtype"):
        axiomjit.jit(function, strict=True)(X)


@pytest.mark.parametrize(
    "action",
    [
        lambda x: x + x[:2],
        lambda x: x @ x,
        lambda x: x[99],
        lambda x: -(x > 0),
        lambda x: x.no_such_attribute,
        lambda x: len(x.max()),
        lambda x: iter(x.max()),
        lambda x: round(x),
        lambda x: {x},
        lambda x: x.astype("f4", casting="safe"),
        lambda x: x.sum(axis=5),
        lambda x: x.__array_interface__["no such key"],
    ],
)
def test_what_numpy_refuses_too_can_be_caught(action):
    def function(x):
        try:
            action(x)
        except (TypeError, ValueError, IndexError, AttributeError, KeyError):
            return -x
        return x

    np.testing.assert_array_equal(axiomjit.jit(function, strict=True)(X), -X)


@pytest.mark.parametrize(
    "name", ["__array_struct__", "__cuda_array_interface__", "__dlpack_device_x__", "__len_hint__"]
)
def test_probing_for_protocols_is_no_refusal(name):
    f = axiomjit.jit(lambda x: x if hasattr(x, name) else -x, strict=True)
    np.testing.assert_array_equal(f(X), -X)


def test_errors_of_the_user_win_where_nothing_was_refused():
    def function(x):
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        axiomjit.jit(function)(X)


def test_keyboard_interrupts_are_not_replaced():
    def function(x):
        with contextlib.suppress(TypeError):
            float(x.max())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        axiomjit.jit(function)(X)


def test_sequences_of_arrays():
    def function(x):
        return np.concatenate(collections.deque([x, x * 2])), np.stack([x, (x + 1)])

    for one, other in zip(axiomjit.jit(function)(X), function(X), strict=True):
        np.testing.assert_array_equal(one, other)


def test_text_of_lengths_is_their_number():
    def function(x, n):
        return f"{x.shape[0]} {x.shape[1]:>4} {n!r} %d" % x.size, x + n  # noqa: UP031

    f = axiomjit.jit(function, strict=True)
    for x, n in ((X, 3), (X[:5], 3), (X, 8), (X.T.copy(), 3)):
        assert f(x, n)[0] == function(x, n)[0]


def test_repr_says_that_an_array_is_traced():
    texts = []
    follow(lambda x, k: texts.append(f"{x * 2!r} {[x[0]]} {k!r}") or x, X, 2.5)
    assert texts == ["Traced(f8[n0, n1]) [Traced(f8[n1])] Traced(~f8[])"]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies(copied):
    def function(x, k):
        return copied(x), copied(x * 2), copied(x.shape[0]), copied({"a": [x]})["a"][0] * copied(k)

    f, x = axiomjit.jit(function, strict=True), X.copy()
    first, second, rows, third = f(x, 2.5)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X * 2)
    np.testing.assert_array_equal(third, X * 2.5)
    assert rows == 6
    assert not np.shares_memory(first, x)


def test_nothing_is_kept_from_one_call_to_the_next():
    """A refusal belongs to one following."""

    def function(x, bad):
        if bad:
            with contextlib.suppress(TypeError):
                float(x.max().item())
        return x * 2

    f = axiomjit.jit(function, strict=True)
    with pytest.raises(NeedsValuesError):
        f(X, True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(f(X, False), X * 2)
