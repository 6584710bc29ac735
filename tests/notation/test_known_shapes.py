"""What a spec means for operands of known shape: sizes of labels, rows, and the result."""

import random

import pytest

import axiomjit as aj
from axiomjit.notation import parse_einsum
from axiomjit.notation.templates import Rows, solve_known
from axiomjit.symbolic.dims import dim


def rows(batch=(), input=(), output=()):
    return Rows(*(tuple(map(dim, sizes)) for sizes in (batch, input, output)))


def solve(spec, *shapes, **sizes):
    """The solution for dimensions in memory order, or for rows."""
    known = [s if isinstance(s, Rows) else tuple(map(dim, s)) for s in shapes]
    return solve_known(parse_einsum(spec), known, sizes)


RESULTS = [
    ("ij;jk=>ik", [(2, 3), (3, 4)], {}, rows(output=(2, 4))),
    ("i=>i", [rows(output=(3,))], {}, rows(output=(3,))),
    ("ij=>", [(2, 3)], {}, rows()),
    ("ij=>0", [(2, 3)], {}, rows(output=(1,))),
    ("ij=>2", [(2, 3)], {}, rows(output=(3,))),
    ("i=>ii", [(3,)], {}, rows(output=(3, 3))),
    ("ii=>i", [(3, 3)], {}, rows(output=(3,))),
    ("i2=>i", [(4, 3)], {}, rows(output=(4,))),
    ("=>i", [()], {}, rows(output=(1,))),
    ("=>i", [()], {"i": 5}, rows(output=(5,))),
    ("=>...i", [()], {"output": (2, 3), "i": 4}, rows(output=(2, 3, 4))),
    ("_i=>i", [(4, 3)], {}, rows(output=(3,))),
    ("_i;_j=>ij", [(4, 3), (2, 5)], {}, rows(output=(3, 5))),
    ("...|i->o=>...|o->i", [(7, 2, 3)], {}, rows((7,), (2,), (3,))),
    ("...|i->o=>...|o->i", [rows((7, 8), (3,), (2,))], {}, rows((7, 8), (2,), (3,))),
    ("...|...hw=>...|0", [rows((7,), (), (5, 2, 3))], {}, rows((7,), (), (1,))),
    ("..v..|...ijk=>..v..kji", [rows((2,), (), (9, 3, 4, 5))], {}, rows((), (), (2, 5, 4, 3))),
    ("2...|...->...=>...|...->...", [rows((3, 7), (5,), (4,))], {}, rows((7,), (5,), (4,))),
    (
        "...s|hd;...t|hd=>...s|t->h",
        [rows((9, 4), (), (2, 8)), rows((9, 5), (), (2, 8))],
        {},
        rows((9, 4), (5,), (2,)),
    ),
    ("a...b;b...c=>a...c", [(2, 5, 6, 3), (3, 5, 6, 4)], {}, rows((), (), (2, 5, 6, 4))),
    ("i->1;ij...->0=>...->ji", [(5, 2), (1, 2, 3, 4)], {}, rows((), (4,), (3, 2))),
    ("o<+k;k=>o", [(5,), (3,)], {}, rows(output=(3,))),
    ("o=+k;k=>o", [(5,), (3,)], {}, rows(output=(5,))),
    ("2*o<+k;k=>o", [(9,), (3,)], {}, rows(output=(4,))),
    ("2*o=+k;k=>o", [(8,), (3,)], {}, rows(output=(4,))),
    ("o<+2*k;k=>o", [(9,), (3,)], {}, rows(output=(5,))),
    ("3*o+2=>o", [(9,)], {}, rows(output=(3,))),
    ("i=>3*i+2", [(3,)], {}, rows(output=(9,))),
    ("o;k=>o<+k", [(3,), (3,)], {}, rows(output=(5,))),
    ("o<+k=>o", [(5,)], {"k": 2}, rows(output=(4,))),
    ("o<+k=>k", [(5,)], {"o": 2}, rows(output=(4,))),
    ("o<+k=>o", [(5,)], {}, rows(output=(5,))),
    ("a;b=>a^b", [(3,), (4,)], {}, rows(output=(7,))),
    ("a;a=>a^a", [(3,), (3,)], {}, rows(output=(6,))),
    ("a^b=>a", [(7,)], {"a": 3}, rows(output=(3,))),
    ("a^b=>b", [(7,)], {"a": 3}, rows(output=(4,))),
    ("a^b=>b", [(7,)], {"b": 3}, rows(output=(3,))),
    ("a^b=>a", [(7,)], {}, rows(output=(7,))),
    ("a^b^c=>b", [(9,)], {"a": 2, "c": 3}, rows(output=(4,))),
    ("a=>a^b", [(3,)], {"b": 2}, rows(output=(5,))),
    ("x,a^b=>x,a", [(2, 7)], {"b": 3}, rows(output=(2, 4))),
    ("ij=>ij", [(0, 3)], {}, rows(output=(0, 3))),
    (
        "b|i->o;b|j->i=>b|j->o",
        [rows((2,), (3,), (4,)), rows((2,), (5,), (3,))],
        {},
        rows((2,), (5,), (4,)),
    ),
    ("ij;jk;kl=>il", [(2, 3), (3, 4), (4, 5)], {}, rows(output=(2, 5))),
]


@pytest.mark.parametrize(("spec", "shapes", "sizes", "wanted"), RESULTS)
def test_a_result_has_its_shape(spec, shapes, sizes, wanted):
    assert solve(spec, *shapes, **sizes).result == wanted


def test_what_is_known_is_the_same_for_every_order_of_operands():
    spec = "...|2*oh<+kh,2*ow=+kw,ic;kh,kw,ic->oc;...|oh,ow,oc=>...|oh,ow,oc"
    image, kernel = rows((8,), (), (9, 8, 3)), rows((), (3, 3, 3), (16,))
    result = rows((8,), (), (4, 4, 16))
    slots = spec.partition("=>")[0].split(";")
    for order in ([0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]):
        text = ";".join(slots[k] for k in order) + "=>...|oh,ow,oc"
        found = solve(text, *([image, kernel, result][k] for k in order))
        assert found.result == result
        assert {name: size.constant for name, size in found.labels.items()} == {
            **{"oh": 4, "kh": 3, "ow": 4, "kw": 3},
            **{"ic": 3, "oc": 16},
        }
        assert found.rows == {"batch": (8,)}


def test_rows_of_dimensions_are_found_with_the_other_operands():
    spec, whole = "...|...->...;...|...=>...|...->...", rows((7, 8), (4, 5), (3,))
    found = solve(spec, whole.dims, rows((7, 8), (), (3,)))
    assert found.operands[0] == whole


@pytest.mark.parametrize(
    ("spec", "shapes", "sizes"),
    [
        ("...|...=>...", [(2, 3)], {}),
        ("...|...->...=>...|...->...", [(2, 3)], {}),
        ("...|...->...;...|=>...|...->...", [(7, 8, 3), rows((7, 8))], {}),
    ],
)
def test_dimensions_are_not_split_between_rows_by_choice(spec, shapes, sizes):
    with pytest.raises(aj.ShapeError, match="axes of unknown number") as caught:
        solve(spec, *shapes, **sizes)
    assert "tensor(" in str(caught.value)
    assert caught.value.where.rpartition(":")[0] == __file__


@pytest.mark.parametrize("sizes", [{"batch": (2,)}, {"batch": ()}, {"output": (2, 3)}])
def test_sizes_say_how_dimensions_are_split(sizes):
    assert solve("...|...=>...|...", (2, 3), **sizes).result.dims == (2, 3)


@pytest.mark.parametrize("seed", range(20))
def test_a_contraction_has_the_sizes_that_numpy_finds(seed):
    import numpy as np

    rng = random.Random(seed)
    sizes = {label: rng.randint(1, 4) for label in "abcdef"}
    slots = [rng.sample("abcdef", rng.randint(0, 3)) for _ in range(rng.randint(1, 3))]
    used = sorted({label for slot in slots for label in slot})
    result = rng.sample(used, rng.randint(0, len(used)))
    text = ",".join(map("".join, slots))
    arrays = [np.ones([sizes[label] for label in slot]) for slot in slots]
    wanted = np.einsum(f"{text}->{''.join(result)}", *arrays).shape
    found = solve(f"{text.replace(',', ';')}=>{''.join(result)}", *(a.shape for a in arrays))
    assert found.result.dims == wanted


ERRORS = [
    ("ij;jk=>ik", [(2, 3), (5, 4)], {}, "sizes 3 and 5 of 'j'"),
    ("ii=>i", [(2, 3)], {}, "sizes 2 and 3 of 'i'"),
    ("ij=>i", [(2, 3, 4)], {}, "3 dimensions (2, 3, 4) for"),
    ("ij=>i", [(2,)], {}, "1 dimension (2) for"),
    ("ij=>i", [rows(output=(2,))], {}, "2 axes where 1 axis fits"),
    ("ij=>i", [rows(batch=(3,), output=(2, 2))], {}, "1 axis where 0 axes fit"),
    ("i...j=>i", [rows(output=(2,))], {}, "2 axes where 1 axis fits"),
    ("i=>i", [(2,), (2,)], {}, "2 operands for 1 slot before '=>'"),
    ("i;j=>i", [(2,)], {}, "1 operand for 2 slots before '=>'"),
    ("i3=>i", [(2, 3)], {}, "the index 3 in an axis of length 3"),
    ("2*o<+k;k=>o", [(8,), (3,)], {}, "steps of 2 that do not tile"),
    ("2*o=+k;k=>o", [(7,), (3,)], {}, "steps of 2 that do not tile an axis of 7"),
    ("o<+k;k=>o", [(2,), (3,)], {}, "a window that is longer than the axis"),
    ("3*i+1=>i", [(8,)], {}, "steps of 3 that do not tile an axis of 8"),
    ("a^b=>a", [(5,)], {"a": 6}, "parts of 6 in a concatenated axis of 5"),
    ("a^a=>a", [(5,)], {}, "parts of 0 in a concatenated axis of 5"),
    ("i=>i", [(2,)], {"j": 3}, "'j', which is no label or row variable"),
    ("i=>i", [(2,)], {"i": 3}, "sizes 3 and 2"),
    ("i=>i", [(2,)], {"i": (1, 2)}, "several sizes for one"),
    ("...=>...", [(2, 3)], {"output": 7}, "7 elements for a shape [2,3]"),
    ("...=>...", [(2, 3)], {"output": (3, 2)}, "sizes"),
    ("...i;...i=>i", [(2, 3), (4, 3)], {}, "sizes 2 and 4"),
    ("...;...a=>a", [rows(output=(2, 3)), rows(output=(5, 4, 7))], {}, "sizes"),
    ("...;...=>", [rows(output=(2, 3)), rows(output=(3,))], {}, "2 axes where 1 axis fits"),
]


@pytest.mark.parametrize(("spec", "shapes", "sizes", "seen"), ERRORS)
def test_what_does_not_fit_is_refused(spec, shapes, sizes, seen):
    with pytest.raises(aj.ShapeError, match="instead: ") as caught:
        solve(spec, *shapes, **sizes)
    error = caught.value
    assert isinstance(error, ValueError)
    assert seen in error.seen
    assert error.asked.startswith(f"einsum {spec!r}")
    assert error.where.rpartition(":")[0] == __file__
