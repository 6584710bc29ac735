"""Elements that a mask chooses: folded in one loop, or taken with a length known while running."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

RNG = np.random.default_rng(3)
LONG = RNG.normal(size=5000)
ROWS = LONG.reshape(100, 50)


def assert_same(function, *arguments):
    """The compiled function gives what NumPy gives, types included; returned compiled."""
    compiled = aj.jit(function, strict=True)
    want, found = function(*arguments), compiled(*arguments)
    pairs = [(want, found)] if not isinstance(want, tuple) else zip(want, found, strict=True)
    for one, other in pairs:
        assert type(one) is type(other)
        np.testing.assert_allclose(other, one, rtol=1e-12)
        assert np.shape(one) == np.shape(other)
    return compiled


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0].sum(),
        lambda x: x[x > 0].mean() + x[x < 0].max(),
        lambda x: ((x > 0).sum(), x[x > 0].size, x[x > 1].size * 2 + x[:3]),
        lambda x: x[x > 0].std() * x[(x > 2) & (x < 2.1)].prod(),
        lambda x: np.exp(x[x > 0]) * 2,
        lambda x: np.sort(x[x > 0])[::-1],
        lambda x: np.concatenate([x[x > 0], x[x <= 0]]),
        lambda x: np.cumsum(x[x > 0])[x[x > 0] > 1],
        lambda x: x[x > 0].reshape(-1, 1) * np.arange(3.0),
        lambda x: x[np.nonzero(x > 1)] + 1,
        lambda x: x[x > 9],
        lambda x: np.flatnonzero(x > 1),
        lambda x: (x[np.where(x > 1)], np.where(x > 1)[0].size),
        lambda x: np.compress(x > 0, x) - np.extract(x > 0, x),
        lambda x: x[x > 0].argmax(),
    ],
)
def test_what_a_mask_chooses(function):
    compiled = assert_same(function, LONG)
    for x in (LONG * 2, -LONG, LONG[:900]):
        want, found = function(x), compiled(x)
        pairs = [(want, found)] if not isinstance(want, tuple) else zip(want, found, strict=True)
        for one, other in pairs:
            np.testing.assert_allclose(other, one, rtol=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0].sum(),
        lambda x: x[x[:, 0] > 0].sum(axis=0),
        lambda x: x[:, x[0] > 0] * 2,
        lambda x: x[x[:, 0] > 0, 1:3],
        lambda x: x[x > 1, None],
        lambda x: np.argwhere(x > 1),
        lambda x: np.nonzero(x),
        lambda x: np.compress(x[0] > 0, x, axis=1),
        lambda x: x[x[:, 0] > 0].mean(axis=1),
    ],
)
def test_masks_of_several_dimensions(function):
    assert_same(function, ROWS)
    assert_same(function, np.asfortranarray(ROWS)[::-1])


def test_another_number_of_chosen_elements_costs_no_compile():
    chosen = aj.jit(lambda x, limit: x[x > limit] * 2)
    chosen(LONG, 0.0)
    before = aj.stats()["compiles"]
    for limit in (0.5, -9.0, 9.0, 2.0):
        np.testing.assert_array_equal(chosen(LONG, limit), LONG[limit < LONG] * 2)
    assert aj.stats()["compiles"] == before
    assert chosen.cache_info().reasons == ("first call",)


def test_an_extreme_of_nothing_is_numpys_error():
    greatest = aj.jit(lambda x: x[x > 0].max())
    assert greatest(LONG) == LONG.max()
    with pytest.raises(ValueError, match="zero-size array to reduction operation maximum"):
        greatest(-abs(LONG))
    assert greatest(LONG) == LONG.max()


def test_where_a_length_is_other_than_assumed_numpy_runs_the_call():
    def some(x):
        return x[x > 0].squeeze() * 2

    compiled = aj.jit(some)
    before = aj.stats()["fallbacks"]
    np.testing.assert_array_equal(compiled(LONG), LONG[LONG > 0] * 2)
    assert aj.stats()["fallbacks"] == before
    few = np.array([1.0, -1.0, -2.0, -2.0, -3.0, -4.0])
    with pytest.warns(FallbackWarning, match=r"m0 = 1, where m0 == 1 was taken for False"):
        np.testing.assert_array_equal(compiled(few), 2.0)
    np.testing.assert_array_equal(compiled(few), 2.0)  # said once
    assert aj.stats()["fallbacks"] == before + 2
    with pytest.raises(NeedsValuesError, match="every number of elements that a mask chooses"):
        aj.jit(some, strict=True)(few)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0][:3],
        lambda x: (x[x > 0][-3:] * 2, x[x > 0][:3].sum()),
        lambda x: x[x > 0][1:],
        lambda x: x[x > 0][:-1],
        lambda x: x[x > 0][2:5].cumsum(),
        lambda x: x[x > 0][5:0:-2],
        lambda x: x[x > 0][::-1][: x.size // 2],
        lambda x: np.diff(x[x > 0]),
        lambda x: np.sort(x[x > 0])[::-1][:3],
        lambda x: np.concatenate([x[x > 0][:2], x[:2]]),
        lambda x: np.flatnonzero(x > 0)[:2].size + x[:1],
    ],
)
def test_a_slice_of_what_a_mask_chooses_has_a_length_of_its_own(function):
    compiled = aj.jit(function, strict=True)
    for count in (5, 0, 1, 2, 3, 4):
        x = np.where(np.arange(12) < count, 1.0, -1.0) * np.arange(2.0, 14.0)
        want, found = function(x), compiled(x)
        pairs = zip(want, found, strict=True) if isinstance(want, tuple) else [(want, found)]
        for one, other in pairs:
            np.testing.assert_array_equal(other, one, strict=True)


def test_messages_name_numbers_of_chosen_elements():
    with pytest.raises(NeedsValuesError) as caught:
        aj.jit(lambda x: (x[x > 0] * 2).tolist(), strict=True)(LONG)
    text = str(caught.value)
    assert "float64[m0] (m0: the number of elements that a mask chooses)" in text


def test_two_masks_meet_as_in_numpy():
    def both(x, y):
        return x[x > 0] + x[y > 0]

    x, y = LONG, LONG[::-1]  # as many positive elements, at other places
    assert 0 < (x > 0).sum() == (y > 0).sum() < x.size
    compiled = aj.jit(both)
    np.testing.assert_array_equal(compiled(x, y), both(x, y))
    with pytest.raises(ValueError, match="could not be broadcast together"):
        compiled(x, -y)


EQUAL = np.where(LONG > 0, 1.0, -1.0) * RNG.uniform(0.5, 2, size=5000)
"""As many positive numbers as LONG has."""
POSITIVE = np.arange(float(np.count_nonzero(LONG > 0)))


@pytest.mark.parametrize(
    ("function", "other"),
    [
        (lambda x, y: x[x > 0] + y[y > 0], EQUAL),
        (lambda x, y: (x[x > 0] * y, y), POSITIVE),
        (lambda x, y: x[x > 0] @ y[y > 0], EQUAL),
        (lambda x, y: np.stack([x[x > 0], y[y > 0]]).sum(0), EQUAL),
        (lambda x, y: x[x > 0][y[y > 0] > 1], EQUAL),
        (lambda x, y: np.where(x[x > 0] > 1, y[y > 0], 0.0), EQUAL),
        (lambda x, y: np.einsum("i,i->", x[x > 0], y), POSITIVE),
        (lambda x, y: x[x > -9].reshape(4, -1) * y[0], EQUAL),
        (lambda x, y: x[x > -9].reshape(-1, 125, 2)[1:, 3] * y[0], EQUAL),
        (lambda x, y: np.sort(x[x > -9].reshape(125, 2, -1), axis=0) * y[1], EQUAL),
    ],
)
def test_chosen_elements_meet_what_is_as_long(function, other):
    compiled, before = assert_same(function, LONG, other), aj.stats()["fallbacks"]
    compiled(LONG * 2, other)
    assert aj.stats()["fallbacks"] == before


def test_chosen_elements_that_meet_others_are_numpys_error():
    def meet(x, y):
        return x[x > 0] + y[y > 0]

    compiled = aj.jit(meet)
    np.testing.assert_array_equal(compiled(LONG, EQUAL), meet(LONG, EQUAL))
    with pytest.raises(ValueError, match="could not be broadcast together"):
        compiled(LONG, LONG + 1)
    one = np.full(5000, -1.0)
    one[7] = 3.0
    with pytest.warns(FallbackWarning, match="m1 = 1, where"):
        np.testing.assert_array_equal(compiled(LONG, one), meet(LONG, one))


def test_a_call_that_no_length_fits_is_not_followed_again():
    def meet(x):
        return np.concatenate([x[x > 0], x[x > 1]]) * np.concatenate([x[x > 2], x[x > -1]])

    compiled, before = aj.jit(meet), aj.stats()["fallbacks"]
    for _ in range(3):
        with pytest.raises(ValueError, match="could not be broadcast together"):
            compiled(LONG)
    compiled.warm(LONG)
    info = compiled.cache_info()
    assert (info.traced, info.hits) == (1, 2)
    assert aj.stats()["fallbacks"] == before + 3


def test_masks_that_do_not_fit_are_numpys_error():
    with pytest.raises(IndexError, match="boolean index did not match indexed array along axis 1"):
        aj.jit(lambda x, m: x[m])(ROWS, np.ones((100, 49), bool))
    with pytest.raises(ValueError, match="Calling nonzero on 0d arrays is not allowed"):
        aj.jit(lambda x: np.nonzero(x.sum()))(ROWS)


def test_the_number_of_chosen_elements_as_a_python_number_runs_in_numpy():
    def counted(x):
        return [0] * len(x[x > 1.5])

    with pytest.raises(NeedsValuesError, match="a number of elements that a mask chooses"):
        aj.jit(counted, strict=True)(LONG)
    with pytest.warns(FallbackWarning, match="runs in NumPy"):
        assert aj.jit(counted)(LONG) == counted(LONG)


def test_without_compiling_the_evaluator_chooses(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    assert_same(lambda x: (x[x > 0] * 2, x[x > 0].max()), LONG)


def test_the_cost_counts_masks_as_if_they_chose_everything():
    lowered = aj.jit(lambda x: x[x > 0] * 2).lower(LONG)
    positions, mask = LONG.size * 8, LONG.size
    assert lowered.cost.temporary_bytes == positions + mask
    assert lowered.cost.bytes_read < 40 * LONG.size
    assert lowered.cost.library_calls == 1
    assert "m0" in str(aj.jit(lambda x: x[x > 0] * 2).explain(LONG))


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (3, 2), (2, 1, 1)])
def test_a_mask_has_dimensions_of_length_one(shape):
    x = np.ones(shape)
    assert_same(lambda x: np.nonzero(np.all(x, axis=-1, keepdims=True)), x)
    assert_same(lambda x: np.nonzero(np.all(x, axis=0, keepdims=True)), x)
