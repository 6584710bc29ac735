"""Identity is Python's: which results are the argument, a view of it, or an array of their own."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from types import SimpleNamespace

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import TraceError

pytestmark = pytest.mark.filterwarnings("ignore")

ITSELF = """
x
x.squeeze()
np.squeeze(x, ())
np.asarray(x)
np.asarray(x, dtype=x.dtype)
np.asarray(x, dtype=np.float32)
np.asarray(x, order="C")
np.asarray(x, order="F")
np.asanyarray(x)
np.array(x, copy=None)
np.array(x, copy=False)
np.ascontiguousarray(x)
np.asfortranarray(x)
np.require(x)
np.asarray_chkfinite(x)
x.astype(x.dtype, copy=False)
x.astype(x.dtype, copy=False, order="C")
np.atleast_1d(x)
np.atleast_2d(x)
np.atleast_3d(x)
np.broadcast_arrays(x, x)[0]
np.broadcast_arrays(x, 1.0)[0]
x.real
np.real(x)
np.real_if_close(x)
x.conj()
np.diff(x, 0)
np.nan_to_num(x, copy=False)
np.add(x, 0, out=x)
"""
VIEWS = """
x[:]
x[...]
x[()]
x[::-1][::-1]
x.T
x.T.T
x.transpose()
x.reshape(x.shape)
x.reshape(-1)
x.ravel()
x.view()
x.swapaxes(0, 0)
np.moveaxis(x, 0, 0)
np.rollaxis(x, 0)
np.broadcast_to(x, x.shape)
np.expand_dims(x, ())
np.expand_dims(x, 0)
np.flip(x, ())
np.rot90(x, 0)
np.split(x, 1)[0]
np.diagonal(x)
np.permute_dims(x)
np.matrix_transpose(x)
x.imag
np.trim_zeros(x)
"""
COPIES = """
x.copy()
np.copy(x)
np.array(x)
x.flatten()
x.astype(x.dtype)
np.conj(x)
+x
np.tile(x, 1)
np.roll(x, 0)
np.roll(x, (), ()) if x.ndim else x.copy()
np.fft.fftshift(x, ()) if x.ndim else x.copy()
np.pad(x, 0)
np.sort(x)
np.concatenate([x])
np.where(True, x, x)
np.clip(x, None, None)
np.round(x)
np.take(x, np.arange(x.shape[0]), axis=0)
"""
GRID = np.arange(6.0).reshape(2, 3)
ARRAYS = {
    "row": np.arange(6.0),
    "grid": GRID,
    "fortran": np.asfortranarray(GRID),
    "strided": np.arange(12.0)[::2],
    "backward": np.arange(6.0)[::-1],
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "ones": np.arange(3.0).reshape(1, 3, 1),
    "integers": np.arange(6),
    "complex": GRID + 1j,
    "number": np.array(3.0),
}


def function_of(expression):
    space = {"np": np}
    exec(f"def function(x):\n    y = {expression}\n    return y, y is x", space)  # noqa: S102
    return space["function"]


def kinship(function, x):
    """How the result is related to the argument, and what the function itself says of it."""
    try:
        result, same = function(x)
    except Exception as error:
        return error if isinstance(error, TraceError) else "an error"
    if result is x:
        return "itself", same
    if not isinstance(result, np.ndarray) or not result.ndim:
        return "a number", same
    return "a view" if np.shares_memory(result, x) else "a copy", same


@pytest.mark.parametrize("group", [ITSELF, VIEWS, COPIES], ids=["itself", "views", "copies"])
def test_results_are_related_to_the_argument_as_in_numpy(group, in_numpy, monkeypatch):
    monkeypatch.setattr(config, "fallback", "allow")
    wrong = []
    for expression in group.split("\n")[1:-1]:
        function = function_of(expression)
        compiled = axiomjit.jit(function)
        for name, x in ARRAYS.items():
            wanted = kinship(function, x)
            if [kinship(compiled, x) for _ in range(2)] != [wanted] * 2:
                wrong.append((expression, name, wanted, kinship(compiled, x)))
    assert not wrong


def several(x, y):
    y += 1
    return x, x[:], x.T, y, y[:], (x * 2, x[:1])


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS)
def test_each_call_gives_the_callers_objects(x):
    if not x.ndim:
        return
    compiled, alone = axiomjit.jit(several), axiomjit.jit(lambda x: x)
    for _ in range(4):  # the later ones are answered natively
        y = np.zeros(5)
        own, view, turned, written, part, (new, rest) = compiled(x, y)
        assert own is x
        assert written is y
        assert alone(x) is x
        assert view is not x
        assert part is not y
        assert all(np.shares_memory(x, one) for one in (view, turned, rest))
        assert np.shares_memory(part, y)
        assert not np.shares_memory(new, x)


@pytest.mark.parametrize("value", [2.5, 1 + 2j, np.float32(3), np.array(7.0)], ids=repr)
def test_numbers_that_are_returned_are_the_callers(value):
    compiled = axiomjit.jit(lambda x, v: (x * v, v))
    for _ in range(4):
        assert compiled(GRID, value)[1] is value


def test_misaligned_arrays_and_memory_maps_are_returned_themselves(tmp_path):
    raw = np.zeros(41, np.uint8)[1:].view(np.float64)
    mapped = np.memmap(tmp_path / "numbers", dtype=np.float64, mode="w+", shape=(6,))
    compiled = axiomjit.jit(lambda x: (x, x[1:], x[:]))
    for _ in range(4):
        assert compiled(raw)[0] is raw
        own, part, view = compiled(mapped)
        assert own is mapped
        assert view is not mapped
        assert [type(part), type(view)] == [np.memmap] * 2
        assert part._mmap is mapped._mmap
        assert np.shares_memory(part, mapped)


def doubled(x, y):
    if x is y:
        return x * 2
    return x - y


def apart(x, y):
    return x is y, x is not y, x is x.T, x + y


@pytest.mark.parametrize("function", [doubled, apart])
def test_one_array_given_twice_is_one_object(function):
    compiled, x = axiomjit.jit(function, strict=True), np.arange(5.0)
    pairs = [(x, x), (x, x.copy()), (x, x[:]), (x[:], x), (np.zeros(0), np.zeros(0))]
    for a, b in (*pairs, *pairs, *reversed(pairs), *[pairs[1]] * 4, *pairs):
        assert repr(compiled(a, b)) == repr(function(a, b))


class Held:
    def __init__(self):
        self.listed, self.named = [np.zeros(3), 1], {"a": 1}


OUTSIDE = {
    "list": [1, np.arange(3.0)],
    "dict": {"a": np.arange(3.0), "b": [2]},
    "tuple": (np.arange(3.0), 1),
    "set": {1, 2},
    "ordered": OrderedDict(a=1),
    "deque": deque([1]),
    "defaultdict": defaultdict(list, a=[1]),
    "namespace": SimpleNamespace(a=1, w=np.zeros(3)),
    "record": namedtuple("Pair", "a b")(np.zeros(3), 1),
    "instance": Held(),
    "text": "abc",
}
TABLE = OUTSIDE["list"]


@pytest.mark.parametrize("held", OUTSIDE.values(), ids=OUTSIDE)
@pytest.mark.parametrize("strict", [False, True])
def test_containers_from_outside_are_returned_themselves(held, strict):
    compiled = axiomjit.jit(lambda x: (held, [held, x], {"a": held}), strict=strict)
    alone = axiomjit.jit(lambda x: held, strict=strict)
    for _ in range(4):
        own, (inside, x), named = compiled(GRID)
        assert own is held
        assert inside is held
        assert named["a"] is held
        assert x is GRID
        assert alone(GRID) is held


def test_parts_copies_and_attributes_of_containers_from_outside():
    held = Held()
    compiled = axiomjit.jit(
        lambda x, i: (held.listed, held.named, TABLE[:], list(TABLE), TABLE[1][i], TABLE)
    )
    for k in range(4):
        listed, named, part, new, values, whole = compiled(GRID, np.array([1, 2]))
        assert listed is held.listed
        assert named is held.named
        assert whole is TABLE
        assert all(one is not TABLE and one[1] is TABLE[1] for one in (part, new))
        assert values.tolist() == [1.0, 2.0]
        held.listed.append(k)
