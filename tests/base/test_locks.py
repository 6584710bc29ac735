"""Locks and the collector are as they were wherever a signal handler raises."""

import _thread
import gc
import sys

from axiomjit.base import locks
from axiomjit.base.locks import FORKS_WAIT, is_held_here, uncollected
from tests.runtime.execution.interrupts import Injector, Interrupt


def interrupted(block, at):
    """The injector of one interrupt in the code of `locks` that a `with` block runs."""
    injector, before = Injector(at, locks.__file__), sys.gettrace()
    sys.settrace(injector)
    try:
        with block():
            pass
    except Interrupt:
        pass
    finally:
        sys.settrace(before)
    return injector


def test_the_collector_is_on_again(monkeypatch):
    monkeypatch.setattr(_thread, "_count", lambda: 0)
    with uncollected():
        assert not gc.isenabled()
    places = interrupted(uncollected, 0).seen
    assert places > 2
    for at in range(1, places + 1):
        try:
            raised = interrupted(uncollected, at).raised
            assert gc.isenabled(), raised
        finally:
            gc.enable()


def test_the_lock_for_compiling_is_free_again():
    places = interrupted(lambda: FORKS_WAIT, 0).seen
    assert places > 4
    for at in range(1, places + 1):
        raised = interrupted(lambda: FORKS_WAIT, at).raised
        held = [lock for lock in (FORKS_WAIT.lock, FORKS_WAIT.queue) if is_held_here(lock)]
        for lock in held:
            lock.release()
        assert not held, raised


def test_its_holder_takes_it_again():
    with FORKS_WAIT:
        with FORKS_WAIT:
            assert is_held_here(FORKS_WAIT.lock)
        assert is_held_here(FORKS_WAIT.lock)
    assert not is_held_here(FORKS_WAIT.lock)
