"""The native entry by itself: its view of objects, its tables, and failures."""

import ctypes
import gc
import os
import subprocess
import sys
import threading
import time
import weakref
from array import array

import numpy as np
import pytest

from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.locks import FORKS_WAIT, is_held_here
from axiomjit.dispatch import guards
from axiomjit.runtime.native_call import native_entry, structures
from axiomjit.runtime.native_call.builder import NAME
from axiomjit.runtime.native_call.guard_tables import MAX_TABLES, Guards, Table, with_table
from axiomjit.runtime.native_call.instructions import SCALARS, TUPLE
from axiomjit.runtime.native_call.native_entry import entry_text
from axiomjit.runtime.object_cache import store
from axiomjit.runtime.object_cache.entries import tables_of
from tests.runtime.native_call.native_tables import calling, table_of
from tests.runtime.object_cache.object_runs import SYMBOL, object_of
from tests.structure.sources import ROOT

pytestmark = pytest.mark.skipif(
    native_entry.refusal() != "", reason="this process has no native entry"
)
F8 = np.dtype("f8")


def slow(*args, **kwargs):
    return "slow", args, kwargs


def entry(*tables):
    """An entry with these tables; the last one is asked first."""
    cell = native_entry.new_cell(slow)
    for table in tables:
        cell[0] = with_table(cell[0], table)
    return native_entry.new_entry(cell)


def words_at(address, count):
    return [ctypes.c_int64.from_address(address + 8 * k).value for k in range(count)]


def test_the_kernel_gets_its_words_and_the_result_is_returned():
    seen = []

    def kernel(result, error, words, low, high):
        seen.append((words_at(words, 3), low, high))
        ctypes.c_double.from_address(words_at(words, 2)[1]).value = 4.5
        return 0

    x, hits, before = np.ones(3), array("q", [0]), stats()["kernels_run"]
    call = entry(table_of(calling(kernel), x, hits=hits))
    result = call(x)
    assert result[0] == 4.5
    assert (result.base, result.dtype, result.shape) == (None, F8, (3,))
    ((words, low, high),) = seen
    assert words == [x.ctypes.data, result.ctypes.data, 77]
    assert (low, high) == (0, 5)
    assert (hits[0], stats()["kernels_run"]) == (1, before + 1)
    assert call([1]) == ("slow", ([1],), {})
    assert call(x, by=2) == ("slow", (x,), {"by": 2})
    assert call() == ("slow", (), {})


@pytest.mark.parametrize("form", [0, SCALARS, TUPLE, SCALARS | TUPLE])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3)])
def test_forms_of_results(form, shape):
    x = np.ones(3)
    kept = (True, False, True) if form & TUPLE else (False, True)
    result = entry(table_of(calling(lambda *_: 0, shape, kept), x, form))(x)
    results = result if form & TUPLE else (result,)
    assert len(results) == sum(kept)
    scalar = form & SCALARS and not shape
    assert {type(value) for value in results} == {np.float64 if scalar else np.ndarray}
    assert {value.shape for value in results} == {shape}


def test_combining_and_the_poison_of_fresh_memory(monkeypatch):
    x, seen = np.ones(3), []

    def kernel(result, error, words, low, high):
        seen.append((low, high))
        return 0

    monkeypatch.setattr(config, "check", True)
    checked = table_of(calling(kernel, (7,), combines=True), x)
    assert np.isnan(entry(checked)(x)).all()
    assert seen == [(0, 5), (0, 0)]
    monkeypatch.setattr(config, "check", False)
    assert entry(checked)(x)[0] == "slow"


def test_strides_of_results():
    x = np.ones(3)
    result = entry(table_of(calling(lambda *_: 0, (2, 3), strides=(8, 16)), x))(x)
    assert (result.strides, result.base, result.flags.f_contiguous) == ((8, 16), None, True)


@pytest.mark.parametrize("releases", [False, True])
@pytest.mark.parametrize("kept", [(True,), (True, False, True)])
def test_a_failing_kernel_raises_and_leaves_nothing(releases, kept):
    x, calls = np.ones(3), []

    def kernel(result, error, words, low, high):
        calls.append(high)
        return 3

    form = TUPLE if len(kept) > 1 else 0
    call = entry(
        table_of(calling(kernel, (1000,), kept, combines=True, releases=releases), x, form)
    )
    gc.collect()
    before = sys.getrefcount(x), sys.getrefcount(F8)
    for _ in range(50):
        with pytest.raises(RuntimeError, match="kernel returned status 3"):
            call(x)
    assert calls == [5] * 50
    gc.collect()
    assert (sys.getrefcount(x), sys.getrefcount(F8)) == before


def test_too_large_a_result_is_a_memory_error():
    x = np.ones(3)
    call = entry(table_of(calling(lambda *_: 0, (2**59,), (True,)), x))
    for _ in range(3):
        with pytest.raises(MemoryError):
            call(x)


def test_other_threads_run_while_a_kernel_works():
    ticks, meanwhile, x = [], [], np.ones(3)
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(0.001)

    def kernel(result, error, words, low, high):
        before, patience = len(ticks), time.monotonic() + 30
        while len(ticks) <= before + 5 and time.monotonic() < patience:
            time.sleep(0.01)
        meanwhile.append(len(ticks) - before)
        return 0

    thread = threading.Thread(target=tick)
    thread.start()
    entry(table_of(calling(kernel, releases=True), x))(x)
    done.set()
    thread.join()
    assert meanwhile[0] > 5


def test_a_table_may_be_replaced_while_it_answers():
    x = np.ones(3)
    cell = native_entry.new_cell(slow)

    def kernel(result, error, words, low, high):
        cell[0] = ()
        gc.collect()
        return 0

    call = calling(kernel)
    cell[0] = with_table((), table_of(call, x))
    del call
    function = native_entry.new_entry(cell)
    assert function(x).shape == (3,)
    assert function(x)[0] == "slow"


def python(value, examples, names=()):
    guards = Guards(None)
    for k, example in enumerate(examples):
        assert guards.add(k, example, k)
    return guards.table(len(examples), names, array("q", [0]), lambda *args: (value, args))


def test_the_newest_table_is_asked_first_and_the_oldest_goes():
    arrays = [np.ones(n) for n in range(1, MAX_TABLES + 3)]
    tables = [python(n, [x]) for n, x in enumerate(arrays)]
    call = entry(*tables, tables[-1])
    answers = [call(x)[0] for x in arrays]
    assert answers == ["slow", "slow", *range(2, MAX_TABLES + 2)]


VALUES = [
    *(1, 2, -1, 2**40, True, 1.5, -0.0, 2j, None, "a", b"a", ..., np.float64(2), np.int8(1)),
    *(np.ones(3), np.ones(3, "f4"), np.ones((3, 1)), np.ones(6)[::2], np.ones(3)[::-1]),
]


@pytest.mark.parametrize("example", VALUES, ids=repr)
def test_what_a_guard_takes(example):
    static = example is None or example is ... or isinstance(example, str | bytes | bool)
    guards = Guards(None)
    assert guards.add(0, example, None if static else 0)
    call = entry(guards.table(1, (), array("q", [0]), lambda v: "fast"))
    for value in VALUES:
        alike = value is example
        if type(value) is type(example) and type(value) in (float, complex, np.float64, np.int8):
            alike = True
        assert (call(value) == "fast") == alike, (example, value)


def test_a_class_of_scalars_lives_as_long_as_its_guard():
    """Another class might lie where it lay, with other things behind its objects' heads."""
    kind = type("Number", (np.float64,), {})
    guards, alive = Guards(None), weakref.ref(kind)
    assert guards.add(0, kind(1.0), 0)
    table = guards.table(1, (), array("q", [0]), lambda v: "fast")
    del guards, kind
    gc.collect()
    assert alive() is not None
    del table
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [1], {}, np.ones(3).view(np.matrix)])
def test_what_no_guard_takes(value):
    assert not Guards(None).add(0, value, 0)
    assert entry(python(1, [5]))(value)[0] == "slow"


@pytest.mark.parametrize("names", [(), ("x",), ("x", "y"), ("y", "x")])
def test_names_of_arguments(names):
    guards = Guards(None)
    given = dict.fromkeys(names, 1)
    for k in range(len(names)):
        guards.add(k, 1, k)
    table = guards.table(0, tuple(given), array("q", [0]), lambda *args: "fast")
    call = entry(table)
    for other in ({}, {"x": 1}, {"x": 1, "y": 1}, {"y": 1, "x": 1}, {"x": 1, "z": 1}):
        assert (call(**other) == "fast") == (tuple(other) == names)


def test_errors_of_what_answers_pass_through():
    guards = Guards(None)
    guards.add(0, 1, 0)

    def fail(value):
        raise KeyError(value)

    call = entry(guards.table(1, (), array("q", [0]), fail))
    for _ in range(10):
        with pytest.raises(KeyError):
            call(1)


def test_the_object_file_calls_nothing_by_name():
    code = store.compiled(entry_text())
    assert tables_of(code).undefined <= {"memcpy", "memset"}
    assert len(code) < 20_000
    assert f"@{NAME}(" in entry_text()


def test_a_fork_waits_until_it_is_compiled(monkeypatch):
    held = []

    def compiled(text):
        held.append(is_held_here(FORKS_WAIT.lock))
        return object_of(1)

    monkeypatch.setattr(config, "cache_dir", "")
    monkeypatch.setattr(store, "compiled", compiled)
    assert store.cached_code("text", SYMBOL).address
    assert held == [True]


def test_a_signal_handler_in_a_compilation_does_not_compile_it(monkeypatch):
    monkeypatch.setattr(guards, "refusal", lambda: pytest.fail("asked for"))
    with FORKS_WAIT:
        assert not guards.is_native()


WARM = """
import sys
import numpy as np
import axiomjit, axiomjit as aj
f = aj.jit(lambda x: x * 2.5 + 1)
x, large = np.ones(5), np.ones(100_000)
assert all(f(x).tolist() == [3.5] * 5 for _ in range(9))
assert f.hits_natively[0]
assert f(large)[-1] == 3.5 and axiomjit.runtime.memory.allocation.kept_bytes()
print(aj.stats()["compiles"], "numba" in sys.modules, "llvmlite" in sys.modules)
"""


def test_its_code_and_that_of_the_allocator_are_kept_on_disk(tmp_path):
    """A later process imports no LLVM for them; one that finds them damaged compiles them again."""
    known = {"AXIOMJIT_CACHE_DIR": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT)}
    environment = {**os.environ, **known, "AXIOMJIT_ENTRY": "auto", "AXIOMJIT_CHECK": "0"}

    def run():
        command = [sys.executable, "-c", WARM]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
        assert done.stderr == ""
        return done.stdout.split()

    assert run() == ["1", "True", "True"]
    kept = list((tmp_path / "kernels").glob("*.code"))
    assert len(kept) == 2
    assert run() == ["0", "False", "False"]
    for path in kept:
        path.write_bytes(path.read_bytes()[:-1])
    assert run() == ["0", "False", "True"]
    assert run() == ["0", "False", "False"]


LATE = """
import codecs, os, weakref
import numpy as np
import axiomjit
from axiomjit.base import config, counters
f = axiomjit.jit(lambda x: x * 2.5 + 1)
x = np.ones(5)
for _ in range(9):
    f(x)
assert f.hits_natively[0]

class Late:
    def __init__(self, write=os.write):
        self.call, self.given, self.write = f, x, write
        self.settings = weakref.ref(config._SETTINGS)
        self.counted = weakref.ref(counters._words["kernels_run"])
    def __call__(self, error):
        pass
    def __del__(self):
        before = self.call.hits_natively[0]
        self.call(self.given)
        there = self.settings() is not None, self.counted() is not None
        self.write(1, b"late %d %d %d" % (self.call.hits_natively[0] - before, *there))

codecs.register_error("late", Late())  # which Python gives up after it has cleared modules
"""


def test_a_call_after_modules_are_cleared_does_not_end_the_process():
    """It is answered natively, and the words that native code reads and counts in are there."""
    known = {"PYTHONPATH": str(ROOT), "AXIOMJIT_ENTRY": "auto", "AXIOMJIT_CHECK": "0"}
    command = [sys.executable, "-c", LATE]
    done = subprocess.run(
        command, env=os.environ | known, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "late 1 1 1")


@pytest.mark.parametrize(
    "check", ["_containers", "_numbers", "_arrays", "_dtypes", "_error_states"]
)
def test_another_layout_of_objects_is_found_out(check, monkeypatch):
    assert structures.refusal() == ""
    wrong = {
        "_containers": ("TUPLE_ITEMS", 32),
        "_numbers": ("VALUE", 24),
        "_arrays": ("STRIDES", 32),
        "_dtypes": ("DTYPE_KIND", 48),
        "_error_states": ("VALUE", 8),
    }[check]
    monkeypatch.setattr(structures, *wrong)
    assert "lie differently" in structures.refusal()
    assert not getattr(structures, check)()


def test_without_entry_calls_go_through_python(monkeypatch):
    import axiomjit as aj

    monkeypatch.setattr(native_entry, "_refusal", "this is a test")
    function = aj.jit(lambda x: x + 1)
    for _ in range(5):
        assert function(np.ones(3)).tolist() == [2, 2, 2]
    assert function.hits_natively[0] == 0
    assert isinstance(Table(b"", ()), Table)
