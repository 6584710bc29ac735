"""Writes into arrays from outside whose elements Python asks for: refused before they are done."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError

W = np.arange(5.0)


def in_place(w):
    w *= 2


def by_item(w):
    w[1:][0] = 5


def caught(w):
    try:
        w *= 2
    except ValueError:
        return


WRITES = {
    "in place": in_place,
    "by item": by_item,
    "of a transposed view": lambda w: w.T.__setitem__(..., 4.0),
    "through flat": lambda w: w.flat.__setitem__(2, 4.0),
    "fill": lambda w: w.fill(3.0),
    "sort": lambda w: w.sort(),
    "out": lambda w: np.add(w, 1, out=w),
    "copyto": lambda w: np.copyto(w.reshape(5, 1)[:, 0], 4.0),
    "at": lambda w: np.multiply.at(w, [1], 5.0),
    "caught": caught,
}


@pytest.mark.parametrize("name", WRITES)
def test_nothing_is_written_before_a_refusal(name):
    def function(x):
        if W[0] > 7:
            return x
        WRITES[name](W)
        return x * (1 if W[0] else 2)

    def asks_afterwards(x):
        write(W)
        return x * (1 if W[0] else 2)

    write = WRITES[name]
    W[:] = [0, 1, 2, 3, 4]
    for one in (function, asks_afterwards):
        with pytest.raises(NeedsValuesError):
            axiomjit.jit(one, strict=True)(np.ones(3))
        np.testing.assert_array_equal(W, [0, 1, 2, 3, 4])
