"""Projections: the product space of an operation, and where operands and result are touched."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.notation import parse_einsum
from axiomjit.notation.projections import projections_of
from axiomjit.notation.templates import solve_known
from axiomjit.symbolic.dims import dim


def tensor(*shape):
    return aj.tensor(np.ones(shape), batch=(), input=(), output=shape)


def of(spec, *shapes, **sizes):
    parsed = parse_einsum(spec)
    known = [tuple(map(dim, shape)) for shape in shapes]
    return projections_of(parsed, solve_known(parsed, known, sizes))


def test_a_contraction():
    found = aj.einsum("ij;jk=>ik", tensor(2, 3), tensor(3, 4)).projections()
    assert found.space == (2, 4, 3)
    assert found.reduced == (2,)
    assert found.result == (({0: 1}, 0), ({1: 1}, 0))
    assert found.operands[1] == (({2: 1}, 0), ({1: 1}, 0))


def test_windows_fixed_indices_and_axes_of_length_one():
    padded = of("2*o=+3*k;k=>o", (8,), (3,))
    assert padded.space == (4, 3)
    assert padded.operands[0] == (({0: 2, 1: 3}, -3),)
    read = of("i2=>i", (4, 3))
    assert read.operands == ((({0: 1}, 0), ({}, 2)),)
    assert of("ij=>ji", (1, 3)).result == (({0: 1}, 0), ({}, 0))


def test_other_operations_have_them_too():
    x = aj.tensor(np.ones((2, 4, 3)), batch=2, output=4, input=3, name="x")
    y = aj.tensor(np.ones((3,)), batch=(), output=3, input=())
    composed = (x @ y).projections()
    assert (composed.space, composed.reduced) == ((2, 4, 3), (2,))
    assert composed.operands[1] == (({2: 1}, 0),)
    assert x.T.projections().operands == ((({0: 1}, 0), ({2: 1}, 0), ({1: 1}, 0)),)
    stretched = (x @ y + aj.tensor(np.ones(1), batch=(), input=(), output=1)).projections()
    assert stretched.operands[1] == (({}, 0),)


def test_an_offset_may_be_a_symbol():
    index = aj.symbol("i")
    x = aj.tensor(np.ones((5, 3)), batch=5, input=(), output=3)
    assert x[index].projections().operands == ((({}, index), ({0: 1}, 0)),)
    assert x[-1].projections().operands == ((({}, 4), ({0: 1}, 0)),)


def test_given_tensors_have_none():
    with pytest.raises(aj.errors.GraphValueError, match="a tensor that is given"):
        tensor(3).projections()


@pytest.mark.parametrize(
    ("spec", "shapes", "surjective", "injective"),
    [
        ("ij=>ji", [(2, 3)], True, True),
        ("i=>ii", [(3,)], False, True),
        ("i=>1", [(3,)], False, True),
        ("i=>0", [(3,)], True, True),
        ("i=>3*i+2", [(3,)], False, True),
        ("o;k=>o<+k", [(4,), (3,)], True, False),
        ("o;k=>3*o<+k", [(4,), (3,)], True, True),
        ("o;k=>4*o<+k", [(4,), (3,)], False, True),
        ("o;k=>2*o<+k", [(4,), (3,)], True, False),
        ("o;k=>k,o<+k", [(4,), (3,)], False, True),
    ],
)
def test_what_is_written_everywhere_and_once(spec, shapes, surjective, injective):
    found = of(spec, *shapes)
    written = np.zeros([n.constant for n in found.shape], int)
    for at in np.ndindex(*found.space[: found.rank]):
        written[
            tuple(sum(c * at[k] for k, c in terms.items()) + o for terms, o in found.result)
        ] += 1
    assert (bool(written.all()), bool(written.max() < 2)) == (surjective, injective)
    assert (found.is_surjective, found.is_injective) == (surjective, injective)


def test_diagonals_are_read_in_place_under_a_guard():
    @aj.jit
    def f(x, y):
        return aj.einsum("i=>ii", x) + y

    x, y = np.arange(50.0), np.ones((50, 50))
    lowered = f.lower(x, y)
    assert (lowered.cost.temporary_bytes, lowered.cost.kernels) == (0, 1)
    np.testing.assert_array_equal(f(x, y), np.diag(x) + 1)


def test_what_is_written_everywhere_is_not_filled_before():
    @aj.jit
    def f(x, y):
        return aj.einsum("ij;jk=>ki", x, y, combine="add", reduce="max")

    assert "select" not in f.lower(np.ones((20, 30)), np.ones((30, 20))).source
