"""More programs with one mistake each: in options, calls, axes, specs and folds."""

import contextvars
import enum

import numpy as np

import axiomjit
import axiomjit as aj
from tests.end_to_end.wrong_programs import ROW, WEIGHTS, X, raises

ROWS, COLUMNS, TIME = (aj.make_axis(n, name=name) for name, n in zip("rct", (3, 4, 5), strict=True))


# Options of `jit`


@raises(ValueError)
def static_name_of_no_parameter():
    @axiomjit.jit(static_argnames=("sise",))
    def f(x, size):
        return x[:size]

    f(X, 2)


@raises(TypeError)
def static_number():
    @axiomjit.jit(static_argnames=1)
    def f(x, size):
        return x[:size]

    f(X, 2)


@raises(TypeError)
def option_of_another_compiler():
    @axiomjit.jit(nopython=True, fastmath=True)
    def f(x):
        return x * 2

    f(X)


@raises(TypeError)
def decorated_class():
    @axiomjit.jit
    class Model:
        def __call__(self, x):
            return x * 2

    Model()(X)


@raises(TypeError)
def decorated_generator():
    @axiomjit.jit
    def rows(x):
        yield from x

    list(rows(X))


@raises(ValueError)
def shapes_that_cannot_be_read():
    @axiomjit.jit(shapes="ij,j=>i")
    def f(x, row):
        return x @ row

    f(X, ROW)


@raises(ValueError)
def shapes_of_too_few_parameters():
    @axiomjit.jit(shapes="ij->i")
    def f(x, row):
        return x @ row

    f(X, ROW)


@raises(ValueError)
def argument_against_its_shape():
    @axiomjit.jit(shapes="ij,j->i")
    def f(x, row):
        return x @ row

    f(X, ROW[:3])


@raises(ValueError)
def result_against_its_shape():
    @axiomjit.jit(shapes="ij,j->j")
    def f(x, row):
        return x @ row

    f(X, ROW)


# Calls


@raises(TypeError)
def missing_argument():
    @axiomjit.jit
    def f(x, y, *, scale):
        return (x - y) * scale

    f(X, scale=2)


@raises(TypeError)
def misspelt_argument():
    @axiomjit.jit
    def f(x, scale=1.0):
        return x * scale

    f(X, scael=2.0)


@raises(TypeError)
def function_of_lists():
    @axiomjit.jit
    def f(x, y):
        return x - y

    f([1.0, 2.0], [3.0, 4.0])


@raises(TypeError)
def uncalled_method():
    @axiomjit.jit
    def f(x):
        return x / x.sum

    f(X)


@raises(AttributeError)
def misspelt_method():
    @axiomjit.jit
    def f(x):
        return x.summ(axis=0)

    f(X)


@raises(AttributeError)
def misspelt_function():
    @axiomjit.jit
    def f(x):
        return np.squareroot(x)

    f(X)


@raises(NameError)
def misspelt_name():
    @axiomjit.jit
    def f(x):
        scaled = x * 2
        return scald + scaled  # noqa: F821

    f(X)


@raises(ValueError)
def spec_of_a_negative_length():
    @axiomjit.jit
    def f(x):
        return x * 2

    f.warm(axiomjit.spec((3, -4)))


# Errors of the program itself


@raises(KeyError)
def missing_key():
    settings = {"scale": 2.0}

    @axiomjit.jit
    def f(x):
        return x * settings["offset"]

    f(X)


class NegativeError(ValueError):
    """An error of the user's own."""


@raises(NegativeError)
def error_with_a_cause():
    def checked(x, limits):
        try:
            return x * limits["upper"]
        except KeyError as error:
            raise NegativeError("no upper limit") from error

    @axiomjit.jit
    def f(x):
        return checked(x, {})

    f(X)


@raises(AssertionError)
def failed_assertion():
    @axiomjit.jit
    def f(x):
        assert x.ndim == 3, "pass images: rows, columns, channels"
        return x.mean(axis=2)

    f(X)


@raises(RecursionError)
def endless_recursion():
    def power(x, n):
        return x * power(x, n - 1)

    axiomjit.jit(power)(X, 3)


@raises(ValueError)
def changed_default():
    @axiomjit.jit
    def f(x, seen=[]):  # noqa: B006
        seen.append(x)
        return np.concatenate(seen)

    f(X)
    f(X[:, :2])


@raises(TypeError)
def traced_array_kept_in_a_closure():
    kept = []

    @axiomjit.jit(strict=True)
    def f(x):
        doubled = x * 2
        kept.append(lambda: doubled)
        return x + 1

    f(X)
    kept[0]() + 1


@raises(TypeError)
def traced_array_kept_in_a_context():
    kept = contextvars.ContextVar("kept")

    @axiomjit.jit(strict=True)
    def f(x):
        kept.set(x * 2)
        return x + 1

    f(X)
    kept.get() + 1


@raises(np.linalg.LinAlgError)
def singular_matrix():
    @axiomjit.jit
    def f(x):
        square = x @ x.T
        return np.linalg.inv(square * 0)

    f(X)


@raises(FloatingPointError)
def trapped_division():
    @axiomjit.jit
    def f(x):
        return 1 / x

    with np.errstate(divide="raise"):
        f(X)


# Axes


@raises(ValueError)
def sum_over_a_foreign_axis():
    @axiomjit.jit
    def f(t):
        doubled = t * 2
        return aj.sum(doubled, TIME)

    f(aj.NamedArray(X, [ROWS, COLUMNS]))


@raises(ValueError)
def misspelt_axis():
    @axiomjit.jit
    def f(t):
        return t.mean("rows")

    f(aj.NamedArray(X, [ROWS, COLUMNS]))


@raises(ValueError)
def axes_of_an_array():
    aj.NamedArray(X, [COLUMNS, ROWS])


@raises(TypeError)
def text_and_a_tensor():
    t = aj.placeholder([ROWS, COLUMNS])
    t + "m"


@raises(TypeError)
def array_without_axes():
    @axiomjit.jit
    def f(t, x):
        return t * x

    f(aj.NamedArray(X, [ROWS, COLUMNS]), X)


@raises(TypeError)
def branch_on_a_tensor():
    @axiomjit.jit(strict=True)
    def f(t):
        return t if t.sum() > 0 else -t

    f(aj.NamedArray(X, [ROWS, COLUMNS]))


@raises(ValueError)
def part_along_a_foreign_axis():
    t = aj.placeholder([ROWS, COLUMNS])
    t[{TIME: 0}]


@raises(ValueError)
def forgotten_placeholder():
    x, y = aj.placeholder([ROWS]), aj.placeholder([ROWS])
    aj.transformers.make_transformer().computation([x * y], x)


@raises(ValueError)
def values_of_a_placeholder():
    t = aj.placeholder([ROWS, COLUMNS])
    np.asarray(t * 2)


class Colour(enum.Enum):
    """A value that is no operand."""

    RED = 1


@raises(TypeError)
def operand_of_no_kind():
    @axiomjit.jit
    def f(x, colour):
        return x * colour

    f(X, Colour.RED)


# Notation and folds


@raises(ValueError)
def spec_with_a_wrong_character():
    aj.einsum("ij;jk=>i?", X, X.T)


@raises(ValueError)
def spec_with_a_foreign_label():
    @axiomjit.jit
    def f(x):
        return aj.einsum("ij->k", x)

    f(X)


@raises(ValueError)
def spec_against_the_lengths():
    @axiomjit.jit
    def f(x, weights):
        hidden = np.tanh(x)
        return aj.einsum("ij;jk=>ik", hidden, weights)

    f(X, WEIGHTS)


@raises(ValueError)
def tensor_against_its_spec():
    w = aj.tensor(np.ones((5, 2)), spec="2->5", exact=True, name="w")
    x = aj.tensor(np.ones(3), spec="3", name="x")
    np.asarray(w @ x)


@raises(ValueError)
def unknown_accumulator():
    aj.fold("median", X, axes=0)


@raises(TypeError)
def function_as_accumulator():
    aj.fold(np.add, X, axes=0)


@raises(TypeError)
def accumulator_that_branches():
    def larger(a, b):
        return a if a > b else b

    aj.fold(aj.Accumulator(None, larger), X, axes=0)


@raises(ValueError)
def accumulator_of_another_state():
    def sums(a, b):
        return a[0] + b[0], a[1] + b[1]

    mean = aj.Accumulator((0.0, 0), sums, lift=lambda e: e, final=lambda s: s[0] / s[1])
    aj.fold(mean, X, axes=0)


@raises(TypeError)
def fold_of_nothing():
    aj.fold("sum", axes=0)
