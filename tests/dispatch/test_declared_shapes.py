"""`jit(shapes=...)`: one program for a declared class of shapes, and refusals that name it."""

import pickle

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphValueError

RNG = np.random.default_rng(3)


SIZES = [(5, 7, 9), (2, 3, 4), (6, 6, 6), (2, 2, 2), (40, 3, 6), (3, 50, 2), (100, 9, 3)]
FUNCTIONS = {
    "...ij,...ij->...ij": (lambda x, y: (x - y) * x + 1, "ij ij"),
    "ij,j->ij": (lambda x, y: x * y + x, "ij j"),
    "ij,i->i": (lambda x, y: (x * 2).sum(axis=1) + y, "ij i"),
    "i,j->ij": (lambda x, y: x[:, None] - y, "i j"),
    "ij->ji": (lambda x: np.exp(x.T), "ij"),
    "ij,jk->ik": (lambda x, y: x @ y + 1, "ij jk"),
    "ij,1j,i1->": (lambda x, y, z: ((x - y) * z).max(), "ij 1j i1"),
    "...i->...": (lambda x: (x * x).sum(axis=-1), "ki"),
    "i,->i": (lambda x, by: x * by, "i "),
    "i, i -> i, ,i": (lambda x, y: (x * y, x.max(), x - y), "i i"),
}


def apart(result):
    return result if isinstance(result, tuple) else (result,)


def arrays(places, lengths):
    for place in places.split(" "):
        shape = tuple(lengths[letter] for letter in place)
        yield RNG.random(shape) if shape else 2.5


@pytest.mark.parametrize("shapes", FUNCTIONS)
def test_one_program_for_all_lengths_from_two(shapes):
    function, places = FUNCTIONS[shapes]
    jitted = aj.jit(function, shapes=shapes)
    for i, j, k in SIZES:
        args = list(arrays(places, {"i": i, "j": j, "k": k, "1": 1}))
        for _ in range(3):
            got, want = jitted(*args), function(*args)
            for one, other in zip(apart(got), apart(want), strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12)
                assert (one.dtype, one.shape) == (other.dtype, other.shape)
    assert jitted.cache_info().reasons == ("first call",)
    assert jitted.cache_info().traced == 1


@pytest.mark.parametrize("shapes", FUNCTIONS)
@pytest.mark.parametrize("length", [0, 1])
def test_lengths_of_zero_and_one_are_right(shapes, length):
    function, places = FUNCTIONS[shapes]
    if length == 0 and "max" in str(function.__code__.co_names):
        pytest.skip("no largest element of none")
    jitted = aj.jit(function, shapes=shapes)
    for sizes in ((5, length, 7), (length, 6, 3), (length, length, length), (4, 5, 6)):
        lengths = dict(zip("ijk", sizes, strict=True), **{"1": 1})
        args = list(arrays(places, lengths))
        got, want = jitted(*args), function(*args)
        for one, other in zip(apart(got), apart(want), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-12)


def test_free_dimensions_in_front():
    jitted = aj.jit(lambda x, y: x + y, shapes="...ij,ij->...ij")
    for front in ((), (3,), (4, 3), (5, 4, 3)):
        x, y = RNG.random((*front, 6, 7)), RNG.random((6, 7))
        np.testing.assert_array_equal(jitted(x, y), x + y)
    assert jitted.cache_info().traced == 4


WRONG = [
    ("ij,ij", [(3, 4), (3, 5)], "argument y, declared ij", "j is 5, but 4 in argument x"),
    ("ij,j", [(3, 4), (3,)], "argument y, declared j", "j is 3, but 4 in argument x"),
    ("ij,ij", [(3, 4), (4,)], "argument y, declared ij", "shape (4,)"),
    ("ij,ij", [(3, 4, 5), (3, 4)], "argument x, declared ij", "shape (3, 4, 5)"),
    ("ij,ij", [(3, 4), (1, 4)], "argument y, declared ij", "i is 1, but 3 in argument x"),
    ("ij,1j", [(3, 4), (3, 4)], "argument y, declared 1j", "1 is 3, but 1 in the declaration"),
    ("ii,i", [(3, 4), (3,)], "argument x, declared ii", "i is 4, but 3 in argument x"),
    ("...i,...i", [(3, 4), (2, 4)], "argument y, declared ...i", "...1 is 2, but 3 in argument x"),
    ("...ij,ij", [(4,), (3, 4)], "argument x, declared ...ij", "shape (4,)"),
    ("i,", [(3,), (3,)], "argument y, declared ()", "shape (3,)"),
]


@pytest.mark.parametrize(("shapes", "sizes", "asked", "seen"), WRONG)
def test_arguments_that_do_not_fit_are_refused_by_name(shapes, sizes, asked, seen):
    jitted = aj.jit(lambda x, y: (x.sum(), y), shapes=shapes)
    args = [np.ones(size) for size in sizes]
    for _ in range(2):
        with pytest.raises(GraphValueError) as error:
            jitted(*args)
        text = str(error.value)
        assert asked in text
        assert seen in text
        assert "test_declared_shapes.py" in text


def test_a_call_that_fits_no_longer_fits_when_warm():
    jitted = aj.jit(lambda x, y: x * y, shapes="ij,ij")
    for _ in range(5):
        jitted(np.ones((3, 4)), np.ones((3, 4)))
    with pytest.raises(GraphValueError, match="declared ij"):
        jitted(np.ones((3, 4)), np.ones((1, 4)))


RESULTS = [
    ("ij->ji", lambda x: x * 2, "(i, j)"),
    ("ij->i", lambda x: x * 2, "(i, j)"),
    ("ij->", lambda x: x.sum(axis=0), "(j)"),
    ("ij->ij,ij", lambda x: x * 2, "(i, j)"),
    ("ij->ij", lambda x: (x * 2, x.sum()), "(i, j), ()"),
    ("ij->ij", lambda x: np.concatenate([x, x]), "(2*i, j)"),
]


@pytest.mark.parametrize(("shapes", "function", "seen"), RESULTS)
def test_results_that_do_not_fit_are_refused(shapes, function, seen):
    with pytest.raises(GraphValueError, match="results have the shapes") as error:
        aj.jit(function, shapes=shapes)(np.ones((5, 6)))
    assert seen.partition("*")[0] in str(error.value)
    assert "test_declared_shapes.py" in str(error.value)


@pytest.mark.parametrize("shapes", ["i,j", "i,j->i"])
def test_lengths_that_the_declaration_tells_apart_may_not_have_to_be_equal(shapes):
    jitted = aj.jit(lambda x, y: x + y, shapes=shapes)
    with pytest.raises(GraphValueError, match="needs i and j to be equal|needs j and i"):
        jitted(np.ones(6), np.ones(6))
    with pytest.raises(ValueError, match="."):
        jitted(np.ones(6), np.ones(5))


DECLARATIONS = [
    ("ij", "1 shape for the parameters (x, y)"),
    ("i,j,k", "3 shapes for the parameters (x, y)"),
    ("i,j..", "'j..'"),
    ("i,j...", "'j...'"),
    ("i,2", "'2'"),
    ("i,j->i->j", "'i->j'"),
]


@pytest.mark.parametrize(("shapes", "seen"), DECLARATIONS)
def test_declarations_that_say_nothing_are_refused(shapes, seen):
    with pytest.raises(GraphValueError) as error:
        aj.jit(lambda x, y: x + y, shapes=shapes)
    assert seen in str(error.value)
    assert f"jit(shapes={shapes!r})" in str(error.value)
    assert "test_declared_shapes.py" in str(error.value)


def test_other_kinds_of_parameters():
    with pytest.raises(GraphValueError, match="args"):
        aj.jit(lambda *args: args[0], shapes="i")
    jitted = aj.jit(lambda x, how, y=2.0: x * y * len(how), shapes="i,", static_argnames="how")
    for n in (4, 9):
        np.testing.assert_array_equal(jitted(np.ones(n), "ab"), np.full(n, 4.0))
    with pytest.raises(GraphValueError, match="container"):
        jitted((np.ones(2), np.ones(2)), "ab")


def doubled(x):
    return x * 2


def test_pickling_keeps_the_declaration():
    again = pickle.loads(pickle.dumps(aj.jit(doubled, shapes="i->i")))
    np.testing.assert_array_equal(again(np.ones(3)), np.full(3, 2.0))
    with pytest.raises(GraphValueError, match="declared i"):
        again(np.ones((3, 3)))
