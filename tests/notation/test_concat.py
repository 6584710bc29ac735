"""concat: operands side by side, prefixes and suffixes, blocks, and what does not fit."""

import numpy as np
import pytest

import axiomjit as aj

X, Y, Z = np.arange(3.0), np.arange(4.0) + 10, np.arange(2.0) + 20
P, Q = np.arange(6.0).reshape(2, 3), np.arange(8.0).reshape(2, 4)

CASES = {
    "joined": ("a;b=>a^b", (X, Y), {}, np.concatenate([X, Y])),
    "three": ("a;b;c=>a^b^c", (X, Y, Z), {}, np.concatenate([X, Y, Z])),
    "exchanged": ("a;b=>b^a", (X, Y), {}, np.concatenate([Y, X])),
    "rows": ("i,a;i,b=>i,a^b", (P, Q), {}, np.concatenate([P, Q], 1)),
    "transposed": ("i,a;i,b=>a^b,i", (P, Q), {}, np.concatenate([P, Q], 1).T),
    "with row variables": ("..r..,a;..r..,b=>a^b,..r..", (P, Q), {}, np.hstack([P, Q]).T),
    "prefix": ("a^b=>a", (Y,), {"a": 3}, Y[:3]),
    "suffix": ("a^b=>b", (Y,), {"a": 3}, Y[3:]),
    "middle": ("a^b^c=>b", (Y,), {"a": 1, "c": 1}, Y[1:3]),
    "all": ("a^b=>a", (Y,), {}, Y),
    "exchanged parts": ("a^b=>b^a", (Y,), {"a": 1}, np.roll(Y, -1)),
    "summed": ("a^b=>", (Y,), {"a": 1}, Y.sum()),
    "summed rows": ("i,a;i,b=>a^b", (P, Q), {}, np.hstack([P, Q]).sum(0)),
    "written in part": ("a=>a^b", (X,), {"b": 2}, np.append(X, [0, 0])),
    "blocks": (
        "a,c;b,d=>a^b,c^d",
        (P, Q),
        {},
        np.block([[P, np.zeros((2, 4))], [np.zeros((2, 3)), Q]]),
    ),
    "one group on two axes": ("a,a;b,b=>a^b,a^b", (np.ones((2, 2)), np.ones((1, 1))), {}, None),
    "integers and floats": ("a;b=>a^b", (np.arange(3), Y), {}, np.concatenate([X, Y])),
    "kinds": ("n|i->o;n|j->o=>n|i^j->o", (np.ones((2, 3, 4)), np.zeros((2, 3, 5))), {}, None),
}


@pytest.mark.parametrize("name", CASES)
def test_values(name):
    spec, operands, sizes, want = CASES[name]
    got = aj.concat(spec, *operands, sizes=sizes)
    if name == "kinds":
        want = np.concatenate(operands, 2)
    if name.startswith("one group"):
        want = np.diag([1.0, 1.0, 1.0])
    np.testing.assert_array_equal(got, want)
    assert got.dtype == want.dtype
    assert not any(np.shares_memory(got, operand) for operand in operands)


def test_in_a_compiled_function_no_part_is_copied_before():
    @aj.jit
    def f(x, y):
        return aj.concat("a;b=>a^b", x, y) * 2.0

    x, y = np.arange(40.0), np.arange(50.0)
    np.testing.assert_array_equal(f(x, y), np.concatenate([x, y]) * 2)
    lowered = f.lower(x, y)
    assert (lowered.cost.temporary_bytes, lowered.cost.kernels) == (0, 1)


def test_axes_survive_but_that_of_the_concatenation():
    N, A, B = aj.make_axes({"N": 2, "A": 3, "B": 4})
    joined = aj.concat("n,a;n,b=>n,a^b", aj.constant(P, [N, A]), aj.constant(Q, [N, B]))
    assert joined.axes[0] is N
    assert joined.axes.lengths == (2, 7)
    np.testing.assert_array_equal(joined.eval().values, np.hstack([P, Q]))


def test_of_tensors_with_a_shape():
    x = aj.tensor(X, batch=(), input=(), output=3)
    rest = aj.tensor(5.0, param=True, batch=(), input=(), name="rest")
    whole = aj.concat("a;b=>a^b", x, rest)
    whole.shape.equate(aj.Shape(output=(5,)))
    np.testing.assert_array_equal(np.asarray(whole), [0, 1, 2, 5, 5])
    assert str(rest.shape) == "2"


def test_one_projection_for_each_part():
    x, y = (aj.tensor(v, batch=(), input=(), output=len(v)) for v in (X, Y))
    first, second = aj.concat("a;b=>a^b", x, y).projections()
    assert (first.space, first.result, first.operands) == ((3,), (({0: 1}, 0),), ((({0: 1}, 0),),))
    assert (second.space, second.result) == ((4,), (({0: 1}, 3),))
    (suffix,) = aj.concat("a^b=>b", y, sizes={"a": 1}).projections()
    assert suffix.operands == ((({0: 1}, 1),),)
    assert not first.is_surjective
    assert suffix.is_surjective


REFUSED = {
    "a;a=>a^b": ((X, X), {"b": 2}, "operands 1 and 2 for the same part"),
    "a;b=>a^a": ((X, Y), {}, "one label twice"),
    "a;b=>a": ((X, Y), {}, "operands 1 and 2 for the same part"),
    "a^b=>a": ((X,), {"b": 4}, "instead"),
    "a;b->a^b": ((X, Y), {}, "write '=>'"),
    "a;b=>a^b+c": ((X, Y), {}, "a sum or a concatenation"),
}


@pytest.mark.parametrize("spec", REFUSED)
def test_what_does_not_fit_is_refused(spec):
    operands, sizes, message = REFUSED[spec]
    with pytest.raises(aj.ShapeError) as error:
        aj.concat(spec, *operands, sizes=sizes)
    assert message in str(error.value)


def test_einsum_names_concat():
    with pytest.raises(aj.SpecError, match=r"(?s)\^\n.*axiomjit.concat"):
        aj.einsum("a;b=>a^b", X, Y)
