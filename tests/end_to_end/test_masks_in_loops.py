"""Folds and writes of elements that a mask selects in each trip of a loop stay in the loop."""

import warnings

import numpy as np
import pytest

import axiomjit

DRAW = np.random.default_rng(3)
X = DRAW.normal(size=(90, 2))
V = DRAW.normal(size=90)
LABELS = DRAW.integers(0, 9, 90)


def centres(x, v, labels):
    """The step of k-means, until it is done."""
    c = x[:9].copy()
    for _ in range(12):
        near = np.argmin(((x[:, None] - c) ** 2).sum(axis=2), axis=1)
        old = c.copy()
        for j in range(len(c)):
            c[j] = x[near == j].mean(axis=0)
        if np.abs(c - old).max() < 1e-12:
            break
    return c, near


def of_groups(x, v, labels):
    made = np.zeros((9, 7))
    for g in range(9):
        m = labels == g
        made[g, 0] = v[m].sum()
        made[g, 1] = v[m].max()
        made[g, 2] = x[m].sum()
        made[g, 3] = v[m].std()
        made[g, 4] = (v[m] > 0.3).any()
        made[g, 5] = x[m, 1].min()
        made[g, 6] = np.sqrt(np.abs(v[m])).prod()
    return made


def counted(x, v, labels):
    """Numbers of chosen elements, as numbers and in tests."""
    total, most, few = 0.0, 0, 0
    for g in range(12):
        chosen = v[(labels == g) & (v > -0.2)]
        total += len(chosen)
        if len(chosen) > 4:
            total += chosen.sum() * chosen.size
        elif chosen.shape[0] == 0:
            few += 1
        most = max(most, chosen.size)
    return total, most, few


def unless_empty(x, v, labels):
    made = np.zeros(14)
    for g in range(14):
        m = labels == g
        if m.any():
            made[g] = v[m].mean() + x[m].max()
    return made


def written(x, v, labels):
    w, z = v.copy(), x * 0.5
    for g in range(9):
        m = (labels == g) & (w < 0.7)
        w[m] = w[m] * 0.5 + v[m]
        w[v > g * 0.1] += 1.0
        z[m] *= 0.25
        z[m, 0] = w[m]
    return w, z


def in_inner_loops(x, v, labels):
    s = np.zeros(9)
    for g in range(9):
        m = labels == g
        for k in range(1, 9):
            s[g] += (v[m] * k).sum() - x[m & (v > 0.1 * k)].sum()
    return s


def until_few(x, v, labels):
    limit, steps = 0.0, 0
    while (v[v > limit]).sum() > 3.0:
        limit += 0.1
        steps += 1
    return limit, steps


def of_an_outer_mask(x, v, labels):
    m = v > 0.0
    s = 0.0
    for k in range(20):
        s += (x[m, 0] * k).sum() - v[m][0]
    return s


FUNCTIONS = (centres, of_groups, counted, unless_empty, written, in_inner_loops, until_few)
FUNCTIONS += (of_an_outer_mask,)


def agree(found, wanted):
    pairs = [v if isinstance(v, tuple) else (v,) for v in (found, wanted)]
    for one, other in zip(*pairs, strict=True):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_loops_with_masks_are_regions(function):
    compiled = axiomjit.jit(function, strict=True)
    for v, labels in ((V, LABELS), (V[::-1].copy(), LABELS), (V, LABELS[::-1].copy())):
        agree(compiled(X, v, labels), function(X, v, labels))
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


def largest(x, v, labels):
    made = np.zeros(12)
    for g in range(12):
        made[g] = v[labels == g].max()
    return made


def means(x, v, labels):
    made = np.zeros(12)
    for g in range(12):
        made[g] = v[labels == g].mean()
    return made


def test_an_extreme_of_no_element_raises_numpys_error():
    labels = LABELS % 12
    labels[:12] = np.arange(12)
    compiled = axiomjit.jit(largest)
    agree(compiled(X, V, labels), largest(X, V, labels))
    assert not compiled.cache_info().in_numpy
    with pytest.raises(ValueError, match="zero-size array"):
        compiled(X, V, LABELS)


def test_a_mean_of_no_element_is_numpys():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        agree(axiomjit.jit(means)(X, V, LABELS), means(X, V, LABELS))


def sorted_selections(x, v, labels):
    s = 0.0
    for g in range(9):
        s += np.sort(v[labels == g])[0]
    return s


def test_other_uses_of_a_selection_are_followed_trip_by_trip():
    compiled = axiomjit.jit(sorted_selections)
    agree(compiled(X, V, LABELS), sorted_selections(X, V, LABELS))
    text = str(compiled.explain(X, V, LABELS))
    assert "a number of elements that a mask chooses in each trip" in text
