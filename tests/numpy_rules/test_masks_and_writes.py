"""Masks that choose elements beside writes into arguments and draws of random numbers."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning

RNG = np.random.default_rng(3)
X, Y = RNG.normal(size=(2, 60))
GENERATOR = np.random.default_rng(7)


def parts(x, y):
    x[3:] = x[3:] * 2
    chosen = y[x > 0]
    x[x > 1] = 0
    return chosen, x[x > 0.5], x[::-1]


def older(x, y):
    before = x * 3 + 1
    x[:] = y
    chosen = x[x > 0]
    x -= 1
    return chosen, before[x > 0], before, x[x > 0].size


def lengths(x, y):
    x[0] = 1
    y[y > 0] = x[0]
    return np.zeros(x.shape) + x[x == 1].size


def some(x, y):
    x[0] = 5
    first = y[y > 0][:20]
    x[1] = first[0]
    x[2:4] = y[y < 0][:2]
    return first


def meet(x, y):
    x[:5] = x[y > 0][:5]
    x[::2] += x[y > 1].sum()
    return x[x > 0] + y[y > 0]


def head(x, count):
    """As `x[:count]`, with a look at how many there are."""
    return x[:count] if x.size >= count else x


def drawn(x, y):
    numbers = GENERATOR.normal(size=x.shape)
    x += numbers
    first = head(x[numbers > y], 7)
    return first, GENERATOR.random(3)


def found(function, arguments):
    """What a call gives or raises, what its arguments hold then, and the generator's state."""
    arguments = [array.copy() for array in arguments]
    GENERATOR.bit_generator.state = np.random.PCG64(5).state
    try:
        results = function(*arguments)
    except (ValueError, IndexError) as error:
        results = [str(error)]
    return list(results), arguments, GENERATOR.bit_generator.state


CALLS = ((X, Y), (Y, X), (-abs(X), Y), (X, -abs(Y)), (X, np.ones(60)), (abs(X), X))


@pytest.mark.parametrize("compiles", [True, False])
@pytest.mark.parametrize(
    ("function", "left"),
    [(parts, 0), (older, 0), (lengths, 0), (some, 2), (meet, 6), (drawn, 1)],
)
@pytest.mark.filterwarnings("ignore:such calls")
def test_masks_beside_writes_and_draws(function, left, compiles, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", not compiles)
    compiled, before = aj.jit(function), aj.stats()["fallbacks"]
    for arguments in CALLS:
        want, after, state = found(function, arguments)
        got, now, drawn_to = found(compiled, arguments)
        assert drawn_to == state
        for one, other in zip((*got, *now), (*want, *after), strict=True):
            if isinstance(other, str):
                assert one == other
            else:
                np.testing.assert_allclose(one, other, rtol=1e-12)
    assert aj.stats()["fallbacks"] - before == left
    assert compiled.cache_info().traced == 1


def test_rows_that_a_mask_chooses_are_changed_whatever_their_number():
    def changed(x, mask):
        x[mask] *= -1

    compiled = aj.jit(changed, strict=True)
    for chosen in (4, 1, 0, 2):
        x, mask = np.arange(12.0).reshape(6, 2), np.arange(6) < chosen
        want = x * np.where(mask, -1, 1)[:, None]
        compiled(x, mask)
        np.testing.assert_array_equal(x, want)
    assert compiled.cache_info().traced == 1


def test_what_was_written_is_put_back_before_numpy_runs_the_call():
    def written(x):
        x += 1
        return x[x > 0].squeeze()

    compiled, x = aj.jit(written), np.array([-9.0, -9.0, 5.0])
    with pytest.warns(FallbackWarning, match="m0 = 1, where"):
        np.testing.assert_array_equal(compiled(x), 6.0)
    np.testing.assert_array_equal(x, [-8.0, -8.0, 6.0])


def test_only_what_is_written_early_is_copied():
    def early(x, y):
        x += 1
        y[0] = head(x[x > 0], 3).sum()

    def late(x, y):
        first = head(x[y > 0], 3)
        x[:3] = first

    def never(x, y):
        x += 1
        return x[x > 0]

    for function, positions in ((early, (0,)), (late, ()), (never, ())):
        assert aj.jit(function).lower(X, Y)._stages.plan.early == positions


def test_lengths_are_asked_in_the_order_in_which_they_are_counted():
    def several(x, mask, y):
        none = np.zeros((2, 6, 0), bool)
        x[none, mask] = y
        x[none, mask] = y + 1
        return x[none, mask]

    arguments = np.zeros((2, 6, 0, 6)), np.arange(6) % 2 == 0, np.arange(2.0)
    with pytest.raises(IndexError, match="shape mismatch"):
        aj.jit(several)(*arguments)
