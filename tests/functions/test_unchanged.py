"""Tracing changes nothing that a function can reach, which `AXIOMJIT_CHECK=1` proves."""

import collections
import functools
import io
import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.functions import unchanged
from axiomjit.functions.outside import Outside
from axiomjit.functions.unchanged import ChangedError, nothing_changes


class Held:
    """An instance with an attribute and a slot."""

    __slots__ = ("__dict__", "slot")
    table = [1]

    def __init__(self):
        self.own, self.slot = 1, 2


def reader():
    pass


def cells():
    kept = [1]
    return lambda: kept


PLACES = {
    "list": ([1], lambda one: one.append(2)),
    "dict": ({"a": 1}, lambda one: one.update(b=2)),
    "order": (collections.OrderedDict(a=1, b=2), lambda one: one.move_to_end("a")),
    "set": ({1}, lambda one: one.add(2)),
    "nested": ({"a": [[1]]}, lambda one: one["a"][0].append(1)),
    "attribute": (Held(), lambda one: setattr(one, "own", 2)),
    "slot": (Held(), lambda one: setattr(one, "slot", 3)),
    "class": (Held, lambda one: one.table.append(1)),
    "namespace": (SimpleNamespace(k=1), lambda one: delattr(one, "k")),
    "array": (np.zeros(3), lambda one: one.fill(1)),
    "objects": (np.array([[1]], dtype=object), lambda one: one.fill(2)),
    "layout": (np.zeros(4), lambda one: one.setflags(write=False)),
    "draw": (np.random.default_rng(1), lambda one: one.random()),
    "old draw": (np.random.RandomState(1), lambda one: one.rand()),
    "next": (itertools.count(), next),
    "generator": ((k for k in range(3)), next),
    "text": (io.StringIO(), lambda one: one.write("a")),
    "bytes": (bytearray(b"a"), lambda one: one.append(1)),
    "default": (lambda kept=[]: kept, lambda one: one.__defaults__[0].append(1)),
    "cell": (cells(), lambda one: one().append(1)),
    "function": (reader, lambda one: setattr(one, "calls", 1)),
    "partial": (functools.partial(print, [1]), lambda one: one.args[0].append(2)),
}


@pytest.mark.parametrize("name", PLACES)
def test_each_kind_of_change_is_found(name, monkeypatch):
    monkeypatch.setattr(config, "check", True)
    value, change = PLACES[name]
    with nothing_changes(reader, [value]):
        pass
    with pytest.raises(ChangedError, match="tracing changed"), nothing_changes(reader, [value]):
        change(value)


def test_global_names_of_the_code_are_compared(monkeypatch):
    monkeypatch.setattr(config, "check", True)
    space = {"COUNT": 1}
    exec("def used():\n    return COUNT", space)
    with pytest.raises(ChangedError, match="COUNT"), nothing_changes(space["used"], []):
        space["COUNT"] = 2.5


STATE = {"n": 1, "log": []}


def stores(x):
    STATE["n"] += 1
    STATE["log"].append(STATE["n"])
    return x * STATE["n"]


def test_a_store_while_tracing_is_found(monkeypatch):
    monkeypatch.setattr(config, "check", True)
    x = np.arange(3.0)
    assert axiomjit.jit(stores)(x).tolist() == (x * STATE["n"]).tolist()

    def change(outside, owner, name, given):
        getattr(owner, name)(*given)

    monkeypatch.setattr(Outside, "change", change)
    with pytest.raises(ChangedError, match="'log'"):
        axiomjit.jit(stores)(x)


def test_nothing_is_compared_without_the_setting(monkeypatch):
    monkeypatch.setattr(config, "check", False)
    monkeypatch.setattr(unchanged, "reachable", lambda *_: pytest.fail("it was compared"))
    with nothing_changes(reader, [1]):
        pass
