"""The position of an element in each dimension is found again in its index."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axiomjit.base.dtypes import FLOAT
from axiomjit.passes.ir.accesses import divided, positions
from axiomjit.passes.ir.loop_ir import Index
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.dims import INDEX, STRIDE, Symbol, dim, product

AT, INNER = (dim(Symbol(name, INDEX)) for name in ("l1", "l2"))
N, M = dim(Symbol("n0")), dim(Symbol("n1"))
RANGES = (Symbol("l1", INDEX), dim(0), N - 1), (Symbol("l2", INDEX), dim(0), AT)
FAR, NEAR = (dim(Symbol(name, STRIDE)) for name in ("s0", "s1"))


def storage(shape, strides=None):
    shape = tuple(map(dim, shape))
    given = [product(shape[d + 1 :]) for d in range(len(shape))] if strides is None else strides
    return Storage("a0", ArrayRole.ARGUMENT, FLOAT, shape, tuple(map(dim, given)))


def found(shape, place, strides=None, gathered=()):
    made = storage(shape, strides)
    offset = sum((dim(p) * s for p, s in zip(place, made.strides, strict=True)), dim(0))
    terms = tuple((name, made.strides[d]) for name, d in gathered)
    names = tuple(name for name, _ in gathered)
    return positions(made, Index(offset, terms, names), RANGES, [])


@pytest.mark.parametrize(
    ("shape", "place"),
    [
        ((N, N), (AT + 1, INNER)),
        ((N + 1, M + N), (INNER, AT + M)),
        ((N, 3), (2 * AT, 2)),
        ((N, N), (AT, N - 1 - INNER)),
        ((M, N, N), (AT, N - 1 - AT, AT - INNER)),
        ((N,), (AT - 7,)),
    ],
)
def test_positions_within_dimensions_are_found(shape, place):
    assert found(shape, place) == tuple(map(dim, place))


def test_positions_beyond_a_dimension_are_not_known():
    assert found((N, N), (AT, N)) == (AT + 1, dim(0))  # the same element
    assert found((N, M), (AT, INNER)) is None
    assert found((N, N), (AT, AT + 1)) is None


def test_strides_of_the_call_need_no_bounds():
    assert found((N, M), (AT, INNER + M), (FAR, NEAR)) == (AT, INNER + M)
    assert found((N, M), (AT, INNER), (FAR, 1)) is None
    assert found((N, M), (AT, INNER), (FAR, 0)) is None


def test_a_computed_position_is_any():
    chosen = dim(Symbol("v3", INDEX))
    assert found((N, N), (0, AT), gathered=[("v3", 0)]) == (chosen, AT)
    assert found((N,), (0,), gathered=[("v3", 0)]) == (chosen,)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(-3, 3), min_size=4, max_size=4), st.integers(1, 5))
def test_quotient_and_rest_make_the_length(factors, constant):
    by = N * M + M if constant > 3 else N + constant if constant > 1 else dim(3)
    length = factors[0] * N * M * AT + factors[1] * N * AT + factors[2] * M + factors[3]
    quotient, rest = divided(length, by)
    assert quotient * by + rest == length


def test_dimensions_of_one_stride_are_not_told_apart():
    assert found((N, 1), (AT, 0), (1, 1)) == (AT, dim(0))
    assert found((N, 1), (0, 0), (1, 1), gathered=[("v3", 0)]) is None
    assert found((N, M), (AT, N * INNER), (N, FAR)) is None
