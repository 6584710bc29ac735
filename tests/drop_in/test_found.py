"""Sequences that once went wrong, made short, by the rule that they break."""

import numpy
import pytest

from axiomjit.numpy import programs
from tests.drop_in.sequences import Sequence, Step, failure, way

FOUND = {
    "a segment that is full before its first operation": Sequence(
        (
            Step("a = wrap(made('f8', (6,)))"),
            Step("b = a[1:]"),
            Step("c = b[1:]"),
            Step("x = c.T[:2]"),
            Step("tell(x.tolist())"),
            Step("x += 1"),
        ),
        most_statements=3,
    ),
    "an operand that is written, and read by a view": Sequence(
        (
            Step("a = wrap(made('i4', (3, 4), 1))"),
            Step("x = np.multiply(a[0], a, out=a)"),
        )
    ),
    "numbers that are one object in NumPy": Sequence(
        (
            Step("c = wrap(made('f8', (), k))"),
            Step("b = c.T"),
            Step("for j in range(3):\n    c = (np.float64(k) == b) <= c"),
            Step("tell(c.tolist())"),
        )
    ),
    "a write into a number that another thread computed": Sequence(
        (
            Step("a = wrap(made('i2', (4,), 1))"),
            Step("b = wrap(made('u8', (), 2))"),
            Step("a = np.sum(a, axis=-1)"),
            Step("d = (b * a) ** -1", "worker", ("d",)),
            Step("y = d + j * 0.5", "", ("d", "y")),
            Step("y[99] = 1", "worker", ("d", "y")),
        )
    ),
    "a reciprocal of complex numbers that fails": Sequence(
        (
            Step("a = wrap(made('c16', (6,)) * 0)"),
            Step("with np.errstate(all='raise'):\n    b = a ** -1"),
            Step("b = a[:1] ** 0.5", "", ("b",)),
        )
    ),
    "a number times a list": Sequence(
        (
            Step("a = wrap(made('i8', (2, 3, 4), 0))"),
            Step("x = np.multiply(np.min(a), [1, 2, 3, 4])"),
            Step("y = np.multiply((1, 2), np.min(a))"),
        )
    ),
    "a function that writes what pending operations read": Sequence(
        (
            Step("b = wrap(made('f8', (6,), 2))"),
            Step("c = b.real"),
            Step("b = c.astype('f8')"),
            Step("np.put(c, [0, 1], k)"),
        )
    ),
    "a method of a ufunc that writes what pending operations read": Sequence(
        (
            Step("a = wrap(made('f4', (4, 4), k))"),
            Step("w = np.outer(a, [1, 2])"),
            Step("y = np.expand_dims(a, 0)"),
            Step("np.add.at(y, [0, 0], 0.5)"),
        )
    ),
    "copies of repeated elements that others can write": Sequence(
        (
            Step("a = wrap(made('f8', (6,), 2))"),
            Step("y = np.broadcast_to(a, (2, *a.shape))"),
            Step("e0 = numpy.asarray(y[:, ::-1])"),
            Step("d = np.maximum.accumulate(y[:1] >= y)"),
        )
    ),
    "errors of numbers": Sequence(
        (
            Step("d = np.max(wrap(made('i8', (6,), k)))"),
            Step("tell(d[-1])"),
            Step("len(d)"),
            Step("d += 1"),
        )
    ),
    "views that only dead views hold": Sequence(
        (
            Step("a = wrap(made('f8', (2, 3, 4), 5))"),
            Step("c = a == j"),
            Step("z = c[None]"),
            Step("d = a + 0"),
            Step("for j in range(3):\n    c = d * z\n    b = z[:, 1:]\n    b[:, ::-1] = 1"),
            Step("b = d"),
            Step("for j in range(3):\n    z = d + z\n    d[k:, None, 1:3] = k * 0.5"),
        )
    ),
    "given arrays that come back": Sequence(
        (
            Step("g0 = made('i1', (4, 4), 5)"),
            Step("y = share(g0)"),
            Step("b = np.add(g0, y, out=g0)"),
            Step("w = np.subtract(b[:1], y, out=b)"),
            Step("c = share(b)"),
            Step("c += g0"),
            Step("g0 += y"),
        )
    ),
    "numbers are not for DLPack": Sequence(
        (
            Step("a = wrap(made('f8', (6,), k))"),
            Step("d = a.any()"),
            Step("e1 = numpy.from_dlpack(d)"),
            Step("e2 = numpy.from_dlpack(a)"),
        ),
    ),
    "a number that is broadcast is read-only": Sequence(
        (
            Step("a = wrap(made('f8', (6,), k))"),
            Step("b = a.max()"),
            Step("c = np.broadcast_to(b, ())"),
            Step("c[...] = 1"),
            Step("np.broadcast_to(b, (4,))[1] = 1"),
        ),
    ),
    "the output is the result, not another array of its memory": Sequence(
        (
            Step("a = wrap(made('f4', (6,), 2))"),
            Step("g0 = made('f8', (6,), 5)"),
            Step("b = share(g0)"),
            Step("d = share(g0)"),
            Step("y = np.subtract(d, a, out=b)"),
        ),
    ),
}
COMPILED = {
    "an array of a number": Sequence(
        (
            Step("b = wrap(made('c16', (4, 4), 1))"),
            Step("w = np.argmax(b)"),
            Step("c = w.ravel()"),
            Step("c[:2] = k"),
            Step("d = w + c"),
        ),
        looks="round",
    ),
    "pending operations that run where errors are trapped": Sequence(
        (
            Step("a = wrap(made('f8', (6,), k))"),
            Step("b = a / 0"),
            Step("with np.errstate(all='raise'):\n    c = b[::-1].copy()"),
        ),
        looks="round",
    ),
    "arrays without dimensions": Sequence(
        (
            Step("a = wrap(made('f8', (), k))"),
            Step("b = a.copy()"),
            Step("c = np.where(b > 0, a, b)"),
            Step("d = np.zeros_like(a)"),
            Step("x = a.sum()"),
        ),
        looks="round",
    ),
    "the larger of two zeros": Sequence(
        (
            Step("a = wrap(made('i8', (6,), k) * 0)"),
            Step("b = np.fmax(a, -0.0)"),
            Step("c = b + a.max()"),
        ),
        looks="round",
    ),
    "squares of bools": Sequence(
        (
            Step("a = wrap(made('?', (6,), 0))"),
            Step("a = np.multiply((a ** 2), 2)"),
            Step("d = a[:]"),
        )
    ),
    "roots of integers": Sequence(
        (
            Step("a = wrap(made('i8', (2, 3, 4), k))"),
            Step("b = a ** 0.5", far=("b",)),
            Step("tell((a ** 0.5 == a ** 0.5).tolist())", far=("b",)),
        ),
        looks="round",
    ),
}


@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_stays_right(name):
    with way("evaluated"):
        assert failure(FOUND[name]) is None


@pytest.mark.parametrize("name", COMPILED)
def test_what_compiled_segments_did_stays_right(name):
    with way("compiled"):
        assert failure(COMPILED[name]) is None


def test_arrays_that_segments_make_are_no_constants():
    text = "def segment(v1):\n    v0 = np.ones(5000)\n    v2 = v1 + v0\n    return (v0, v2)\n"
    compiled = programs.Program(text, text, numpy).compiled
    assert "scalar 1.0" in str(compiled.lower(numpy.ones(5000)).graph)
