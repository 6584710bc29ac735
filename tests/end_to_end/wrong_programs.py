"""Programs with one mistake each, written as a user would: in shapes, dtypes and values.

`PROGRAMS` has them by name, those of `wrong_calls.py` included once that is imported.

A program raises an error when it is called. The golden files of `test_wrong_programs.py` have what
Python prints then.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import axiomjit

X = np.arange(12.0).reshape(3, 4)
"""Three rows of four."""
ROW = np.arange(4.0)
WEIGHTS = np.ones((5, 2))


@dataclass(frozen=True)
class Program:
    """A wrong program, and the class of its error in NumPy and Python."""

    run: Callable[[], object]
    error: type[Exception]


PROGRAMS: dict[str, Program] = {}


def raises(error: type[Exception]) -> Callable[[Callable[[], object]], Callable[[], object]]:
    """Add a program whose error has this class."""

    def add(run: Callable[[], object]) -> Callable[[], object]:
        PROGRAMS[run.__name__] = Program(run, error)
        return run

    return add


# Shapes


@raises(ValueError)
def shapes_of_a_sum():
    @axiomjit.jit
    def f(x, y):
        doubled = x * 2
        powers = np.exp(y)
        return doubled + powers

    f(X, np.ones(5))


@raises(ValueError)
def shapes_in_a_helper():
    def centred(values, weights):
        return values - weights.mean(axis=0)

    @axiomjit.jit
    def f(x, weights):
        y = np.sqrt(x)
        return centred(y, weights).sum()

    f(X, WEIGHTS)


@raises(ValueError)
def shape_of_a_global_array():
    @axiomjit.jit
    def f(x):
        return x.T * WEIGHTS

    f(X)


@raises(ValueError)
def shapes_of_a_product():
    @axiomjit.jit
    def layer(x, weights):
        return np.maximum(x @ weights, 0)

    layer(X, WEIGHTS)


@raises(ValueError)
def count_of_a_reshape():
    @axiomjit.jit
    def f(x):
        return np.reshape(x, (5, -1)).sum(axis=0)

    f(X)


@raises(ValueError)
def shapes_of_concatenate():
    @axiomjit.jit
    def f(x, y):
        return np.concatenate([x, y[:, :2]], axis=0)

    f(X, X)


@raises(ValueError)
def shapes_of_stack():
    @axiomjit.jit
    def f(x):
        first, rest = x[:1], x[1:]
        return np.stack((first, rest))

    f(X)


@raises(ValueError)
def shapes_of_where():
    @axiomjit.jit
    def f(x, y):
        return np.where(x > 0, x, y[:, None])

    f(X, ROW)


@raises(ValueError)
def shape_of_a_written_part():
    @axiomjit.jit
    def f(x):
        out = np.zeros((3, 6))
        out[:, 1:4] = x
        return out

    f(X)


@raises(ValueError)
def shape_of_an_addition_in_place():
    @axiomjit.jit
    def f(row, x):
        row += x
        return row

    f(ROW.copy(), X)


@raises(ValueError)
def shape_of_out():
    @axiomjit.jit
    def f(x):
        return np.add(x, 1, out=np.zeros(4))

    f(X)


@raises(ValueError)
def lengths_of_einsum():
    @axiomjit.jit
    def f(x, weights):
        return np.einsum("ij,jk->ik", x, weights)

    f(X, WEIGHTS)


@raises(ValueError)
def operands_of_einsum():
    @axiomjit.jit
    def f(x):
        return np.einsum("ij,jk->ik", x)

    f(X)


@raises(ValueError)
def axis_of_a_sum():
    @axiomjit.jit
    def f(x):
        return x.sum(axis=2)

    f(X)


@raises(ValueError)
def axes_of_transpose():
    @axiomjit.jit
    def f(x):
        return x.transpose(0, 2, 1)

    f(X)


@raises(ValueError)
def parts_of_split():
    @axiomjit.jit
    def f(x):
        left, right = np.split(x, 2)
        return left - right

    f(X)


# Dtypes


@raises(TypeError)
def text_as_operand():
    @axiomjit.jit
    def f(x):
        return x + " m/s"

    f(X)


@raises(TypeError)
def objects_as_argument():
    @axiomjit.jit(strict=True)
    def f(prices):
        return prices * 2

    f(np.array([1, "2", None], object))


@raises(TypeError)
def dates_as_argument():
    @axiomjit.jit(strict=True)
    def f(days):
        return days[1:] - days[:-1]

    f(np.array(["2026-01-01", "2026-01-03"], "M8[D]"))


@raises(TypeError)
def unknown_dtype():
    @axiomjit.jit
    def f(x):
        return x.astype("float65")

    f(X)


@raises(TypeError)
def float_into_integers():
    @axiomjit.jit
    def f(counts):
        counts += 0.5
        return counts

    f(np.arange(4))


@raises(TypeError)
def bits_of_floats():
    @axiomjit.jit
    def f(x):
        mask = x > 3
        return x & mask

    f(X)


@raises(ValueError)
def product_with_a_number():
    @axiomjit.jit
    def f(x):
        return x @ 2.0

    f(X)


@raises(OverflowError)
def integer_beyond_64_bits():
    @axiomjit.jit
    def f(counts, n):
        return counts * n

    f(np.arange(4), 2**70)


# Positions


@raises(IndexError)
def position_beyond_the_end():
    @axiomjit.jit
    def f(x):
        return x[3] - x[2]

    f(X)


@raises(IndexError)
def positions_beyond_the_end():
    @axiomjit.jit
    def f(x, idx):
        return x[idx]

    f(X, np.array([0, 7]))


@raises(IndexError)
def written_positions_beyond_the_end():
    @axiomjit.jit
    def f(x, idx):
        x[idx] = 0
        return x

    f(X.copy(), np.array([0, 7]))


@raises(IndexError)
def too_many_indices():
    @axiomjit.jit
    def f(x):
        return x[0, :, 1]

    f(X)


@raises(IndexError)
def length_of_a_mask():
    @axiomjit.jit
    def f(x, mask):
        return x[mask].sum()

    f(X, ROW > 1)


@raises(IndexError)
def float_as_index():
    @axiomjit.jit
    def f(x):
        middle = x.shape[0] / 2
        return x[middle]

    f(X)


@raises(TypeError)
def float_as_length():
    @axiomjit.jit
    def f(x):
        return np.zeros(x.size / 2)

    f(X)


# Values that decide, under `strict`


@raises(TypeError)
def branch_on_a_random_number():
    generator = np.random.default_rng(1)

    @axiomjit.jit(strict=True)
    def flipped(x):
        if generator.random() > 0.5:
            return -x
        return x

    flipped(X)


@raises(TypeError)
def loop_until_converged():
    @axiomjit.jit(strict=True)
    def root(x):
        guess = x * 1e6
        while np.abs(guess * guess - x).max() > 1e-9:
            with np.errstate(divide="ignore"):
                guess = (guess + x / guess) / 2
        return guess

    root(X + 1)


@raises(TypeError)
def value_by_item():
    @axiomjit.jit(strict=True)
    def f(x):
        return x.mean().item() * 2

    f(X)


@raises(TypeError)
def value_as_range():
    @axiomjit.jit(strict=True)
    def f(x, counts):
        total = 0.0
        for k in range(counts[0]):
            total = total + x[k]
        return total

    f(X, np.array([2]))


@raises(TypeError)
def value_as_axis():
    @axiomjit.jit(strict=True)
    def f(x, axes):
        return x.sum(axis=axes[0])

    f(X, np.array([0.0, 1.0]))


@raises(TypeError)
def value_as_key():
    @axiomjit.jit(strict=True)
    def f(x):
        return {0.0: "none", 1.0: "one"}[x[0, 0]]

    f(X)


@raises(TypeError)
def values_as_list():
    @axiomjit.jit(strict=True)
    def f(x):
        return sorted(x.tolist()[0])

    f(X)


@raises(TypeError)
def time_of_a_call():
    @axiomjit.jit(strict=True)
    def f(x):
        return x + time.time()

    f(X)


# What is not compiled, under `strict`


@raises(TypeError)
def write_of_a_shape():
    @axiomjit.jit(strict=True)
    def f(x):
        y = x * 2
        y.shape = (4, 3)
        return y

    f(X)


@raises(TypeError)
def method_without_a_rule():
    @axiomjit.jit(strict=True)
    def f(x):
        return x.view("i4")

    f(X)


@raises(TypeError)
def function_without_a_rule():
    @axiomjit.jit(strict=True)
    def f(x):
        return np.trim_zeros(x[0])

    f(X)


@raises(TypeError)
def function_of_rows():
    @axiomjit.jit(strict=True)
    def f(x):
        return np.apply_along_axis(sorted, 0, x)

    f(X)


@raises(TypeError)
def generator_returned():
    @axiomjit.jit(strict=True)
    def f(x):
        return (row * 2 for row in x)

    f(X)


# Writes into memory


@raises(TypeError)
def read_only_argument_under_strict():
    @axiomjit.jit(strict=True)
    def f(x):
        x[0] = 1
        return x.sum()

    x = X.copy()
    x.flags.writeable = False
    f(x)


@raises(ValueError)
def read_only_argument():
    @axiomjit.jit
    def f(x):
        x *= 2
        return x.sum()

    x = X.copy()
    x.flags.writeable = False
    f(x)


@raises(TypeError)
def overlapping_arguments_under_strict():
    @axiomjit.jit(strict=True)
    def f(x, y):
        x[:] = y + 1

    x = X.copy()
    f(x[1:], x[:-1])


@raises(ValueError)
def write_into_a_broadcast_array():
    @axiomjit.jit
    def f(row):
        table = np.broadcast_to(row, (3, 4))
        table[0] = 0
        return table

    f(ROW)
