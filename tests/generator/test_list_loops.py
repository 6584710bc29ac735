"""Random loops that make lists do what Python does; faults in the rules of such lists are found."""

from unittest.mock import patch

import pytest

from axiomjit.base.config import config
from axiomjit.functions import appended_lists
from axiomjit.functions.appended_lists import AppendedLists, Fork, LoopAppends, _Log
from axiomjit.symbolic.dims import dim
from axiomjit.tracing.list_items import ListItems
from tests.generator import list_loops
from tests.generator.budget import budget
from tests.generator.sequences import way

SEED = 7
made, place, trips = _Log._made, AppendedLists._place, LoopAppends.trips


@pytest.mark.parametrize("name", ["evaluated", "interpreted"])
def test_random_lists_are_those_of_python(name):
    assert list_loops.campaign(1, 0, budget(6), name) == []


def swapped(lists, log, first):
    """The place of the other item of a trip with two."""
    done = lists._bodies[-1].done.get(log, dim(0))
    loop = lists._bodies[-1].loop
    two = loop is not None and log.sizes.get(loop.body) is dim(2) and done.constant in (0, 1)
    return place(lists, log, first) + (1 - 2 * done if two else 0)


def shortened(log):
    """The items of a list without the last one."""
    items = made(log)
    return items if items.filled is not None else items.part(slice(None, -1))


FAULTS = {
    "the mask is forgotten": (_Log, "depend_on_condition", lambda log: None),
    "appends are swapped": (AppendedLists, "_place", swapped),
    "the array is too short": (_Log, "_made", shortened),
    "the array is too long": (LoopAppends, "trips", lambda loop: trips(loop) + 1),
    "a side is forgotten": (Fork, "join", lambda fork, made: made),
    "numbers are taken for Python's": (appended_lists, "are_pythons", lambda leaf: True),
    "a slice is forgotten": (ListItems, "part", lambda items, key: items),
}
FOUND_BY = {
    "the mask is forgotten": 1,
    "appends are swapped": 84,
    "the array is too short": 3,
    "the array is too long": 3,
    "a side is forgotten": 14,
    "numbers are taken for Python's": 58,
    "a slice is forgotten": 34,
}
"""By fault, a function that finds it."""


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    with way("evaluated"), patch.object(config, "_fallback", "warn"):
        assert list_loops.failure(SEED, FOUND_BY[fault], (10,)) is None
        monkeypatch.setattr(*FAULTS[fault])
        assert list_loops.failure(SEED, FOUND_BY[fault], (10,)) is not None
