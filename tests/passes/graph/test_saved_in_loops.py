"""Trips of a loop copy what they read only where an element that they write may be the same."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.graph import save_versions
from tests.generator.sequences import way


def earlier_columns(a):
    for j in range(a.shape[0]):
        for k in range(j):
            a[j + 1 :, j] -= a[j:-1, k]


def own_column_too(a):
    for j in range(a.shape[0]):
        for k in range(j + 1):
            a[j + 1 :, j] -= a[j:-1, k]


def rows_below(a):
    for j in range(a.shape[0] - 1):
        a[j, 1:] += a[j + 1, :-1]


def own_row(a):
    for j in range(a.shape[0] - 1):
        a[j, 1:] += a[j, :-1]


def even_rows(a):
    for j in range(a.shape[0] // 2):
        a[2 * j, 1:] += a[2 * (a.shape[0] // 2 - j) - 1, :-1]


def mirrored(a):
    for j in range(a.shape[0]):
        a[j, 1:] += a[a.shape[0] - 1 - j, :-1]


COPIES = {earlier_columns: 0, own_column_too: 1, rows_below: 0, own_row: 1}
COPIES |= {even_rows: 0, mirrored: 1}


def temporaries(function):
    """The number of temporaries of the loop's kernel."""
    storages = aj.jit(strict=True)(function).lower(np.ones((18, 18)))._stages.loops.storages
    return sum(storage.role.is_temporary for storage in storages)


def differs(function):
    compiled = aj.jit(function)
    with way("interpreted"):
        for n in (18, 9, 2):
            mine, plain = (np.arange(n * n, dtype=float).reshape(n, n) for _ in range(2))
            compiled(mine)
            function(plain)
            if not np.array_equal(mine, plain):
                return True
    return False


@pytest.mark.parametrize("function", COPIES)
def test_only_parts_that_are_written_are_copied(function):
    assert temporaries(function) == COPIES[function]
    assert not differs(function)


def test_a_broken_dependence_test_is_found():
    with patch.object(save_versions, "may_meet_in_trip", lambda *given: False):
        assert all(differs(function) for function, copies in COPIES.items() if copies)
