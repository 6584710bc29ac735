"""A worker process, which runs one peer in one case and answers requests from a pipe.

`python -m axiomjit.bench.suite.worker` reads requests and writes answers; each is a JSON object on
one line:

| asked | answered |
|---|---|
| `prepare` peer, case, seed, pinned | `size`, `dtype` of the arguments |
| `first` | `first_s`, after the result agreed with NumPy's |
| `steady` | `call_s`, the time of a warm call |
| `sample` | `sample_s`, mean time of a call over one sample |
| `memory` | `peak_bytes` |
| `plan` | `cost` of axiomjit's plan, None without one |
| `limits` pinned, threads, spent_s | `triads`, `flops_per_s` |

An answer with `status` has the reason why the peer is excluded from the case. The process ends when
its input ends.
"""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit import jit
from axiomjit.base.errors import AxiomError
from axiomjit.base.tree import flatten_tree
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.machine import measure_limits
from axiomjit.bench.suite.peers import PEERS, Call, reason
from axiomjit.bench.suite.records import MISSING, UNSUPPORTED, WRONG, Cost
from axiomjit.bench.suite.workload import Workload, facts

SAMPLE_S: Final = 1e-3
"""The length of a sample in seconds; a sample of short calls has several calls."""
WARM_BELOW_S: Final = 5e-3
"""Before a call that takes less than this number of seconds, an untimed call runs, since other
peers have used the CPU's caches.
"""
TRIES: Final = 4
"""The largest number of repetitions of an interrupted sample."""
SINGLE_THREADED_SHARE: Final = 0.02
"""A call counts as single-threaded if other threads work for less than this fraction of its
time.
"""
TOLERANCE: Final = {"f2": 1e-2, "f4": 1e-4, "f8": 1e-9, "c8": 1e-4, "c16": 1e-9}
"""The largest allowed difference by dtype, relative to the largest finite element.

Results of other dtypes must be equal.
"""
LARGE_BYTES: Final = 1 << 20
Answer = dict[str, Any]


class Stop(Exception):
    """Raised if the peer is excluded from this case; its arguments are a status and a reason."""


class Session:
    """The state of a worker; each method answers a request."""

    def __init__(self) -> None:
        self.call: Call = lambda: None
        self.expected: object = None
        self.repeat = 1
        self.call_s = 0.0
        self.workload: Workload | None = None
        self.arguments: tuple[Any, ...] = ()

    def prepare(self, peer: str, case: str, seed: int, pinned: bool) -> Answer:
        """Import the peer, make the arguments, and compute NumPy's result."""
        pin(pinned)
        kind = PEERS[peer]
        try:
            kind.load()
        except Exception as error:  # a broken installation may raise anything
            raise Stop(MISSING, reason(error)) from error
        workload = find([case])[0]
        arguments = workload.arguments(seed)
        self.expected = workload.function(*arguments)
        self.workload, self.arguments = workload, arguments
        try:
            self.call = kind.prepare(workload, arguments)
        except Exception as error:
            raise Stop(UNSUPPORTED, reason(error)) from error
        size, dtype = facts(arguments)
        return {"size": size, "dtype": dtype}

    def first(self) -> Answer:
        """Make the first call, with its compilation, and compare the result with NumPy's."""
        started = time.perf_counter()
        try:
            result = self.call()
        except Exception as error:
            raise Stop(UNSUPPORTED, reason(error)) from error
        first_s = time.perf_counter() - started
        wrong = disagreement(result, self.expected)
        if wrong:
            raise Stop(WRONG, wrong)
        return {"first_s": first_s}

    def steady(self) -> Answer:
        """Make a few calls, and choose the number of calls of a sample."""
        self.expected = None
        for _ in range(3):  # first calls start threads and choose code
            self.call_s = self._timed(1)
        while self.call_s * self.repeat < SAMPLE_S / 2 and self.repeat < 10**5:
            self.repeat *= 4
            self.call_s = self._timed(self.repeat)
        self.repeat = max(1, math.ceil(SAMPLE_S / max(self.call_s, 1e-9)))
        return {"call_s": self.call_s}

    def sample(self) -> Answer:
        """Measure a sample; repeat it while the system interrupts it, and return the best.

        If the calls run on one thread, the time in which the thread had no core does not count.
        """
        if self.call_s < WARM_BELOW_S:
            self.call()
        tries: list[tuple[int, float]] = []
        while len(tries) < TRIES and (not tries or tries[-1][0]):
            before = interruptions()
            sample_s = self._timed(self.repeat)
            tries.append((interruptions() - before, sample_s))
        return {"sample_s": min(tries)[1]}

    def memory(self) -> Answer:
        """Return the peak growth of memory in a warm call; None if Linux does not report it."""
        _give_back_memory()
        gc.collect()
        try:
            Path("/proc/self/clear_refs").write_text("5")
            before = _status_kib("VmRSS")
            result = self.call()
            peak = _status_kib("VmHWM")
        except (OSError, ValueError):
            return {"peak_bytes": None}
        grown = (peak - before) * 1024
        # A library with its own memory pool shows no growth, not even for its result.
        seen = grown >= result_bytes(result) // 2
        return {"peak_bytes": max(0, grown) if seen else None}

    def plan(self) -> Answer:
        """Return the cost of axiomjit's plan of the prepared case; None without a plan."""
        assert self.workload is not None
        try:
            cost = jit(self.workload.function, strict=True).lower(*self.arguments).cost
        except AxiomError:  # the first call reported the reason
            return {"cost": None}
        return {"cost": {name: getattr(cost, name) for name in Cost._fields}}

    def limits(self, pinned: bool, threads: int, spent_s: float) -> Answer:
        """Measure the limits of the machine and return them."""
        pin(pinned)
        return measure_limits(threads, spent_s)

    def _timed(self, repeat: int) -> float:
        call, repeat_all = self.call, range(repeat)
        gc.disable()
        waited, others = waiting_s(), other_threads_s()
        started = time.perf_counter()
        for _ in repeat_all:
            call()
        taken = time.perf_counter() - started
        gc.enable()
        lost = waiting_s() - waited
        # The system may report another thread's work only at its next tick, so such work may be the
        # cause of a large loss of time.
        if other_threads_s() - others < SINGLE_THREADED_SHARE * taken and lost < taken / 2:
            taken -= lost
        return taken / repeat


def disagreement(result: object, expected: object) -> str:
    """Return a text about the difference between a result and NumPy's; "" if they agree.

    The structure, the shapes, the kinds of dtypes and the positions of NaN and infinity must be
    equal. Values must be close, and elements must not have fewer bytes than NumPy's.
    """
    ours, theirs = flatten_tree(result)[0], flatten_tree(expected)[0]
    if len(ours) != len(theirs):
        return f"{len(ours)} results, NumPy's are {len(theirs)}"
    found = (_difference(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True))
    return next(filter(None, found), "")


def _difference(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
    if ours.shape != theirs.shape:
        return f"a result of shape {ours.shape}, NumPy's has {theirs.shape}"
    kinds = ours.dtype.kind.replace("u", "i"), theirs.dtype.kind.replace("u", "i")
    if kinds[0] != kinds[1] or ours.itemsize < theirs.itemsize:
        return f"a result of dtype {ours.dtype}, NumPy's has {theirs.dtype}"
    code = f"{theirs.dtype.kind}{theirs.itemsize}"
    if code not in TOLERANCE:
        differ = int((ours != theirs).sum())
        return f"{differ} of {ours.size} elements differ from NumPy's" if differ else ""
    finite = np.isfinite(theirs)
    same = np.array_equal(ours[~finite], theirs[~finite], equal_nan=True)
    if not same or not np.isfinite(ours[finite]).all():
        return "NaN or infinity in other places than NumPy's"
    gap = np.abs(ours[finite] - theirs[finite]).max(initial=0.0)
    scale = np.abs(theirs[finite]).max(initial=0.0)
    if gap > TOLERANCE[code] * max(float(scale), np.finfo(theirs.dtype).tiny):
        return f"off NumPy's by {float(gap):.1e}, its largest element is {float(scale):.1e}"
    return ""


def interruptions() -> int:
    """Return the number of involuntary context switches; 0 if the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def waiting_s() -> float:
    """Return the seconds in which this thread waited for a core; 0 if they are unknown."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def other_threads_s() -> float:
    """Return the processor time of the other threads of this process."""
    return time.process_time() - time.thread_time()


def result_bytes(result: object) -> int:
    """Return the number of bytes of the large arrays in a result."""
    sizes = (getattr(leaf, "nbytes", 0) for leaf in flatten_tree(result)[0] if not _is_view(leaf))
    return sum(size for size in sizes if size >= LARGE_BYTES)


def _is_view(leaf: object) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.base is not None


def pin(pinned: bool) -> None:
    """Pin the process to one core, so that no library can use more cores."""
    if pinned and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _give_back_memory() -> None:
    """Make the C library get large blocks from the system, so that growth of memory is seen."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(-3, 65536)  # M_MMAP_THRESHOLD
        library.malloc_trim(0)
    except (OSError, AttributeError):  # another C library
        return


def _status_kib(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise ValueError(field)


def serve(session: Session, lines: Any, answer: Callable[[Answer], None]) -> None:
    """Answer the request in each line until the input ends."""
    for line in lines:
        asked = json.loads(line)
        try:
            answer(getattr(session, asked.pop("do"))(**asked))
        except Stop as stop:
            answer({"status": stop.args[0], "reason": stop.args[1]})


def main() -> None:
    """Serve requests on standard input; the output of libraries goes to standard error."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")

    def answer(what: Answer) -> None:
        own.write(json.dumps(what) + "\n")
        own.flush()

    serve(Session(), sys.stdin, answer)


if __name__ == "__main__":
    main()
