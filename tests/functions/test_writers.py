"""Functions and methods that are known as writers change the arguments that are named."""

import bisect
import heapq
import operator
import random
import re
import struct
import types
from collections import ChainMap, Counter, OrderedDict, deque

import numpy as np
import pytest

from axiomjit.functions.known_calls import Kind, kind_of_call, kind_of_method
from tests.functions.call_samples import OWNERS, methods_of, plain

LISTS = """
    append(9) clear() extend([7]) insert(0,7) pop() remove(1) reverse() sort() __delitem__(0)
    __setitem__(0,9) __iadd__([7]) __imul__(2) __init__([8])
"""
DICTS = """
    clear() pop("a") popitem() setdefault("c",3) update({"c":3}) __delitem__("a")
    __setitem__("a",9) __ior__({"c":3}) __init__({"c":3})
"""
WRITES = {
    list: LISTS,
    dict: DICTS,
    OrderedDict: DICTS + 'move_to_end("a")',
    Counter: DICTS.replace('__ior__({"c":3})', '__ior__(Counter("c"))')
    + 'subtract("a") __iadd__(Counter("c")) __isub__(Counter("a")) __iand__(Counter("a"))',
    ChainMap: 'clear() pop("a") popitem() setdefault("c",3) update({"c":3}) __setitem__("a",9)'
    '__delitem__("a") __ior__({"c":3})',
    set: """
        add(9) clear() difference_update({1}) discard(1) intersection_update({1}) pop() remove(1)
        symmetric_difference_update({1}) update({9}) __iand__({1}) __ior__({9}) __isub__({1})
        __ixor__({1}) __init__({9})
    """,
    deque: LISTS.replace("sort()", "") + "appendleft(9) extendleft([9]) popleft() rotate(1)",
    bytearray: """
        append(9) clear() extend(b"x") insert(0,9) pop() remove(98) reverse() __delitem__(0)
        __setitem__(0,9) __iadd__(b"x") __imul__(2)
    """,
    np.ndarray: """
        fill(9) partition(0) put(0,9) resize(2,refcheck=False) setfield(9.0,float)
        setflags(write=False) sort() byteswap(True) __setitem__(0,9) __iadd__(1) __isub__(1)
        __imul__(2) __itruediv__(2) __ifloordiv__(2) __imod__(2) __ipow__(2)
    """,
    np.poly1d: "__setitem__(0,9)",
}


def calls(text):
    """Names of methods and texts of their arguments."""
    return re.findall(r"(\w+)\((.*?)\)(?=\s|__|$)", text)


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: kind.__name__)
def test_writing_methods_change_their_object(kind):
    for name, given in calls(WRITES[kind]):
        owner = OWNERS[kind]()
        args, named = eval(f"(lambda *args, **named: (args, named))({given})")
        known = kind_of_method(kind, name)
        before = plain(owner), plain(args)
        getattr(owner, name)(*args, **named)
        assert [plain(owner) != before[0], plain(args) != before[1]] == [True, False], name
        assert [one is owner for one in known.changed((owner, *args), named)] == [True], name


@pytest.mark.parametrize("kind", WRITES, ids=lambda kind: kind.__name__)
def test_each_writing_method_is_tried(kind):
    found = {name for name in methods_of(kind) if kind_of_method(kind, name).kind is Kind.WRITER}
    tried = {name for name, _ in calls(WRITES[kind])}
    assert {name for name in found if not name.startswith("__")} <= tried


# Functions that change arguments


def heap():
    return [1, 2, 3]


WRITERS = [
    *((np.copyto, (np.zeros(2), np.ones(2)), {}), (np.put, (np.zeros(2), 0, 5), {})),
    (np.place, (np.zeros(2), np.array([True, False]), [5]), {}),
    (np.putmask, (np.zeros(2), np.array([True, False]), 5), {}),
    (np.fill_diagonal, (np.zeros((2, 2)), 5), {}),
    (np.put_along_axis, (np.zeros(2), np.array([0]), 5, 0), {}),
    (np.add.at, (np.zeros(2), np.array([0]), 5), {}),
    (operator.setitem, ([1, 2], 0, 5), {}),
    (operator.delitem, ([1, 2], 0), {}),
    *((f, (np.array([5.0, 6.0]), 3.0), {}) for f in (operator.iadd, operator.isub, operator.imul)),
    *((f, (np.array([5.0, 6.0]), 3.0), {}) for f in (operator.itruediv, operator.ipow)),
    (operator.ior, ({1}, {2}), {}),
    *((heapq.heappush, (heap(), 0), {}), (heapq.heappop, (heap(),), {})),
    *((heapq.heapreplace, (heap(), 9), {}), (heapq.heappushpop, (heap(), 9), {})),
    (heapq.heapify, ([3, 2, 1],), {}),
    *((bisect.insort, ([1, 3], 2), {}), (bisect.insort_left, ([1, 3], 2), {})),
    (struct.pack_into, ("<i", bytearray(4), 0, 5), {}),
    (struct.Struct("<i").pack_into, (bytearray(4), 0, 5), {}),
    (np.add, (np.ones(2), 1, np.zeros(2)), {}),
    (np.add, (np.ones(2), 1), {"out": np.zeros(2)}),
    (np.add, (np.ones(2), 1), {"out": (np.zeros(2),)}),
    (np.modf, (np.array([1.5]), np.zeros(1), np.zeros(1)), {}),
    (np.divmod, (np.array([5]), 3), {"out": (np.zeros(1, int), np.zeros(1, int))}),
    (np.add.reduce, (np.ones((2, 2)), 0, None, np.zeros(2)), {}),
    (np.add.accumulate, (np.ones(2), 0, None, np.zeros(2)), {}),
    (np.multiply.outer, (np.ones(2), np.ones(2)), {"out": np.zeros((2, 2))}),
    (np.dot, (np.eye(2), np.eye(2), np.zeros((2, 2))), {}),
    (np.clip, (np.array([5.0]), 0, 1, np.zeros(1)), {}),
    (np.take, (np.array([5.0]), [0], None, np.zeros(1)), {}),
    (np.compress, ([True], np.array([5.0]), None, np.zeros(1)), {}),
    (np.choose, ([0], [[5.0]], np.zeros(1)), {}),
    (np.concatenate, ([[5.0]], 0, np.zeros(1)), {}),
    (np.sum, (np.ones((2, 2)), 0, None, np.zeros(2)), {}),
    (np.cumsum, (np.ones(2), 0, None, np.zeros(2)), {}),
    (np.mean, (np.ones((2, 2)), 0), {"out": np.zeros(2)}),
    (np.median, (np.array([3.0, 1.0, 2.0]),), {"overwrite_input": True}),
    (np.percentile, (np.array([3.0, 1.0, 2.0]), 50, None, None, True), {}),
    (np.nan_to_num, (np.array([np.nan]), False), {}),
    (np.einsum, ("i,i->i", np.ones(2), np.ones(2)), {"out": np.zeros(2)}),
    (np.linalg.multi_dot, ([np.eye(2), np.eye(2)],), {"out": np.zeros((2, 2))}),
    (np.array([3.0, 1.0, 2.0]).sum, (None, None, np.zeros(())), {}),
    (np.array([3.0, 1.0, 2.0]).clip, (0, 1, np.zeros(3)), {}),
    (np.array([3.0, 1.0, 2.0]).cumsum, (), {"out": np.zeros(3)}),
    (random.Random(0).shuffle, ([1, 2, 3, 4, 5],), {}),
]


@pytest.mark.parametrize(("function", "args", "named"), WRITERS)
def test_writers_change_the_named_arguments(function, args, named):
    owner = getattr(function, "__self__", None)
    bound = not isinstance(owner, types.ModuleType | None)
    given = (owner, *args) if bound else args
    changed = kind_of_call(function).changed(given, named)
    parts = {id(one): one for v in (*args, *named.values()) for one in entries(v)}
    before = {key: plain(one) for key, one in parts.items()}
    function(*args, **named)
    after = {key for key, one in parts.items() if plain(one) != before[key]}
    assert after
    assert after == {id(one) for one in changed} - {id(owner)}


def entries(value):
    """A value, or those in a tuple."""
    return value if type(value) is tuple else (value,)


@pytest.mark.parametrize(
    ("function", "args", "named"),
    [
        (np.median, (np.array([3.0, 1.0, 2.0]),), {"overwrite_input": False}),
        (np.nan_to_num, (np.array([np.nan]), True), {}),
        (np.nan_to_num, (np.array([np.nan]),), {"copy": True}),
        (np.add, (np.ones(2), 1), {"out": None}),
        (np.array([1.0]).byteswap, (False,), {}),
    ],
)
def test_options_that_change_nothing(function, args, named):
    owner = getattr(function, "__self__", None)
    given = args if isinstance(owner, types.ModuleType | None) else (owner, *args)
    assert kind_of_call(function).changed(given, named) == []
