"""Parts of arrays at computed positions are views, as in NumPy: rows chosen by an array."""

import numpy as np
import pytest

import axiomjit as aj
from tests.runtime.codegen.kernels import same_bits

PLACES = np.array([2, 3, 4, 5, 6, 7, 8, 3, 8])


def read_after_a_write(m, k):
    row = m[k[0]]
    m[2, 0] = 100
    return row.sum()


def written(m, k):
    row = m[k[1]]
    row[1:] *= 2
    row += 1
    return m.sum(axis=0), row


def of_a_part(m, k):
    cube = m.reshape(3, 3, 9)
    part = cube[k[0]]
    inner, column = part[k[1]], part[:, k[2]]
    inner[0] = -1
    column[...] = 7
    return part, m


def in_place(m, k):
    m[k[0]] -= m[k[1]] * 0.5
    m[k[2], 1:4] += m[k[0], :3]
    m[:, k[3]] *= 2


def swapped_without_a_copy(m, k):
    first = m[k[0]]
    m[k[0]] = m[k[1]]
    m[k[1]] = first


def two_of_one_row(m, k):
    one, other = m[k[0]], m[k[0] + 0]
    one[0] = 50
    return other * 2


def copied(m, k):
    row = m[k[0]].copy()
    m[k[0]] = 0
    return row, m[np.array(k[0])] + 0


def in_loops(m, k):
    total = 0.0
    for i in range(m.shape[0]):
        row = m[k[i]]
        for j in range(k[i]):
            m[j] += 1
            total += row[0] + m[j, 1]
    return total


def items_of_a_row(m, k):
    last = 0.0
    for i in range(m.shape[0]):
        for j in range(k[i]):
            for last in m[j]:  # noqa: B007  the last one is returned
                m[k[i] - 1, k[i] - 2] -= 2
    return last


FUNCTIONS = (
    *(read_after_a_write, written, of_a_part, in_place, swapped_without_a_copy, two_of_one_row),
    *(copied, in_loops, items_of_a_row),
)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_parts_are_views(function):
    jitted = aj.jit(function, strict=True)
    k = PLACES if function is not of_a_part else PLACES % 3
    for seed in range(3):
        own = np.random.default_rng(seed).integers(-9, 9, (9, 9)).astype(float)
        theirs = own.copy()
        found, expected = jitted(own, k), function(theirs, k)
        assert same_bits(own, theirs)
        whole = isinstance(found, tuple)
        for one, other in zip(*(v if whole else (v,) for v in (found, expected)), strict=True):
            assert one is None if other is None else same_bits(np.asarray(one), np.asarray(other))


def test_a_gradient_goes_through_a_part():
    def function(m, k):
        row = m[k[0]]
        n = m * 1.0
        part = n[k[0]]
        n[1] *= 3
        return (part * row).sum()

    m, k = np.arange(9.0).reshape(3, 3), np.array([1])
    found = aj.grad(function)(m, k)
    assert found.tolist() == [[0, 0, 0], [18, 24, 30], [0, 0, 0]]
