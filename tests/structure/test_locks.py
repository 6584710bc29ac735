"""Locks come from `axiomjit/base/locks.py`, where a forked child finds and frees them."""

import ast

import pytest

from tests.structure.sources import nodes_of, read_sources

MAKER = "axiomjit/base/locks.py"
KINDS = {"Lock", "RLock", "Condition", "Semaphore", "BoundedSemaphore", "Event", "Barrier"}
MODULES = {"threading", "_thread", "multiprocessing"}
KINDS_BELOW = {"allocate_lock", "register_at_fork", "cached_property"}
MODULES_BELOW = {"os", "functools"}


def made_locks(source):
    """Lines that make locks, import what makes them, or hook into forks."""
    for node in nodes_of(source):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES | MODULES_BELOW:
            names = {alias.name for alias in node.names}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names = {node.attr} if node.value.id in MODULES | MODULES_BELOW else set()
        else:
            continue
        if names & (KINDS | KINDS_BELOW):
            yield node.lineno


def test_no_other_module_makes_locks():
    sources = read_sources("axiomjit", "passes", "runtime")
    found = {path: [*made_locks(text)] for path, text in sources.items() if path != MAKER}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    "source",
    [
        "import threading\n_a = threading.Lock()",
        "from threading import RLock",
        "import _thread\n_thread.allocate_lock()",
        "import os\nos.register_at_fork(before=print)",
        "import functools\nfunctools.cached_property",
        "from functools import cached_property, partial",
        "def f():\n    return threading.Event()",
    ],
)
def test_planted_locks_are_found(source):
    assert [*made_locks(source)]
