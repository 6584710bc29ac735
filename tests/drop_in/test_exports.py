"""Exports: others write into the memory, and operations recorded before keep their values."""

import ctypes
import gc

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.numpy.exports import Interface

N = 5000

EXPORTS = {
    "asarray": numpy.asarray,
    "array": lambda x: numpy.array(x, copy=None),
    "__array__": lambda x: x.__array__(),
    "interface": lambda x: numpy.asarray(_Holder(x.__array_interface__)),
    "buffer": lambda x: numpy.asarray(x.__buffer__(0x11D)),
    "data": lambda x: numpy.asarray(x.data),
    "dlpack": numpy.from_dlpack,
    "strided": lambda x: numpy.lib.stride_tricks.as_strided(x, x.shape, x.strides, writeable=True),
    "masked": lambda x: numpy.ma.array(x, copy=False).data,
}


class _Holder:
    def __init__(self, interface):
        self.__array_interface__ = interface


@pytest.mark.parametrize("part", ["all", "rows", "turned", "back"])
@pytest.mark.parametrize("name", EXPORTS)
def test_exports_share_memory_while_they_live(name, part):
    for _ in range(3):
        root = np.ones((50, 100)) + np.arange(100)
        x = {"all": root, "rows": root[3:], "turned": root.T, "back": root[::-2]}[part]
        x = x[...] if part == "all" else x
        before = x + 0
        given = EXPORTS[name](x)
        assert (given.shape, given.strides) == (x.shape, x.strides)
        assert root.is_apart()
        after = x + 0
        given[1, 2] = -5
        assert x[1, 2] == -5
        assert after[1, 2] == before[1, 2] > 0
        x[1, 1] = -6
        x += 1
        assert (given[1, 1], given[1, 2]) == (-5, -4)
        part_of = given[1:]
        del given
        gc.collect()
        assert root.is_apart()
        part_of[0, 3] = -9
        assert x[1, 3] == -9
        del part_of
        gc.collect()
        assert not root.is_apart()
        numpy.testing.assert_array_equal(x * 2, numpy.asarray(x) * 2)


def test_addresses_share_memory_for_good():
    for take in (lambda x: x.__array_interface__["data"][0], lambda x: x.ctypes.data):
        x = np.ones(N) + 1
        address = take(x)
        assert x.is_apart()
        y = x * 2
        ctypes.c_double.from_address(address).value = 8
        assert (x[0], y[0]) == (8, 4)


def test_the_interface_is_numpys_for_python():
    x = np.ones((50, 100))[:, ::2]
    y = numpy.asarray(x)
    ours, theirs = x.__array_interface__, y.__array_interface__
    assert type(ours) is Interface
    assert {key: ours[key] for key in theirs} == theirs
    assert ours.get("data") == theirs["data"]
    assert ours.get("gone", 3) == 3
    assert numpy.asarray(np.ones(N).sum()).shape == ()


def test_read_only_memory_is_handed_out_read_only():
    x = np.broadcast_to(np.ones(N), (3, N))
    assert not numpy.asarray(x).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        x.__buffer__(1)
    with pytest.raises(BufferError, match="no memory"):
        np.ones(N).sum().__buffer__(0)


def test_arrays_given_are_shared():
    given = numpy.arange(N * 2.0)
    for x in (np.asarray(given), np.asarray(given[::2]), np.asarray(given)[:]):
        y = x + 1
        given[0] += 10
        assert (x[0], y[0]) == (given[0], given[0] - 9)
        x += 1
        assert given[0] == x[0]
    x = np.asarray(numpy.arange(N))  # nobody else holds it
    assert not x.is_apart()
    both = np.broadcast_arrays(np.ones(N), given[:N])
    assert both[1][0] == given[0]
    y = both[1] * 1
    given[0] = 3
    assert (both[1][0], y[0] == 3) == (3, False)


def test_results_that_no_lazy_array_stands_for():
    x = np.ones(N) + 1
    view = x.view(">f8")
    assert type(view) is numpy.ndarray
    assert x.is_apart()
    y = x + 1
    view[:] = 4
    assert (x[0], y[0]) == (numpy.full(1, 4.0).byteswap()[0], 3)
    del view
    gc.collect()
    assert not x.is_apart()
    other = x.view(numpy.recarray)
    assert type(other) is numpy.recarray
    other[:] = 7
    assert x[0] == 7
    assert (x + 1)[0] == 8


def test_views_known_by_their_memory():
    for _ in range(3):
        x = np.ones(N) + 1
        bits = x.view(np.int64)
        x += 1
        assert (bits + 1)[0] == numpy.float64(3).view(numpy.int64) + 1
        bits[:2] = 0
        x += 1
        assert x[:3].tolist() == [1, 1, 4]


def test_devices():
    x = np.ones(N)
    assert x.__dlpack_device__() == (1, 0)
