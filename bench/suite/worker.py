"""A process that runs one peer in one case, told what to do over a pipe.

`python -m axiomjit.bench.suite.worker` reads one JSON object a line and answers each with one:

| asked | answered |
|---|---|
| `load` peer, pinned | nothing, after its import |
| `ready` case, seed | nothing, after axiomjit has compiled the case; starts no thread |
| `fork` | nothing; a child answers from here on |
| `end` | nothing; the child ends, its parent answers again |
| `prepare` peer, case, seed, pinned | `size`, `dtype` of the arguments |
| `first` | `first_s`, after the result agreed with NumPy's |
| `steady` | `call_s`, the time of a warm call |
| `sample` | `sample_s`, mean time of a call over one sample |
| `memory` | `peak_bytes` |
| `plan` | `cost` of axiomjit's plan, None without one |
| `limits` pinned, threads, spent_s | `triads`, `flops_per_s` |

An answer with `status` says that the peer is out, and why. The process ends with its input.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import math
import os
import random
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
from axiomjit.bench.suite.agreement import disagreement
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.limits import measure_limits
from axiomjit.bench.suite.peers import PEERS, Call, reason
from axiomjit.bench.suite.records import MISSING, UNSUPPORTED, WRONG, Cost
from axiomjit.bench.suite.workload import Workload, facts

SAMPLE_S: Final = 1e-3
"""Calls shorter than this are timed several at once."""
WARM_BELOW_S: Final = 5e-3
"""Shorter calls are preceded by one that is not timed, after other peers used the caches."""
TRIES: Final = 4
"""Of a sample, as long as it is interrupted."""
ALONE: Final = 0.02
"""A call whose other threads use no more than this part of it runs on one thread."""
LARGE_BYTES: Final = 1 << 20
MOVED_BYTES: Final = 1 << 16
Answer = dict[str, Any]


class Stop(Exception):
    """The peer is out of this case: status and reason."""


class Session:
    """What one worker holds."""

    def __init__(self) -> None:
        """Nothing prepared yet."""
        self.call: Call = lambda: None
        self.expected: object = None
        self.repeat = 1
        self.call_s = 0.0
        self.planted = 1
        self.workload: Workload | None = None
        self.arguments: tuple[Any, ...] = ()
        self.moved = b""

    def load(self, peer: str, pinned: bool) -> Answer:
        """Import the peer."""
        pin(pinned)
        PEERS[peer].load()
        return {}

    def ready(self, case: str, seed: int) -> Answer:
        """Compile the kernels of a case by axiomjit for processes that are forked later."""
        workload = find([case])[0]
        with contextlib.suppress(AxiomError):  # a first call says why
            kernels = jit(workload.function, strict=True).lower(*workload.arguments(seed))
            kernels.llvm  # noqa: B018 - compiles them
        return {}

    def fork(self) -> Answer:
        """Go on in a child. Its memory lies elsewhere than that of the child before."""
        child = os.fork()
        if child:
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            if status:
                raise SystemExit(status if status > 0 else 128 - status)
            return {}
        self.moved = bytes(random.SystemRandom().randrange(MOVED_BYTES))
        return {}

    def prepare(self, peer: str, case: str, seed: int, pinned: bool, planted: int = 1) -> Answer:
        """Import the peer, build the arguments, compute what NumPy says.

        `planted` repeats each call, to try out that a slower function is noticed.
        """
        pin(pinned)
        kind = PEERS[peer]
        try:
            kind.load()
        except Exception as error:  # whatever a broken installation raises
            raise Stop(MISSING, reason(error)) from error
        workload = find([case])[0]
        arguments = workload.arguments(seed)
        self.expected = workload.function(*arguments)
        self.workload, self.arguments, self.planted = workload, arguments, planted
        try:
            self.call = kind.prepare(workload, arguments)
        except Exception as error:
            raise Stop(UNSUPPORTED, reason(error)) from error
        size, dtype = facts(arguments)
        return {"size": size, "dtype": dtype}

    def first(self) -> Answer:
        """The first call: compiling included; its result is compared with NumPy's."""
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
        """Warm up, and find how many calls make a sample."""
        self.expected = None
        for _ in range(3):  # libraries start threads and settle on code in their first calls
            self.call_s = self._timed(1)
        while self.call_s * self.repeat < SAMPLE_S / 2 and self.repeat < 10**5:
            self.repeat *= 4
            self.call_s = self._timed(self.repeat)
        self.repeat = max(1, math.ceil(SAMPLE_S / max(self.call_s, 1e-9)))
        return {"call_s": self.call_s}

    def sample(self) -> Answer:
        """One sample; one in which the system took a core away is taken again, the best is kept.

        Where the calls run on one thread, time without a core does not count.
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
        """How far resident memory grows during a warm call, None where Linux does not tell."""
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
        # A library that keeps memory for itself shows no growth, not even for its result.
        seen = grown >= result_bytes(result) // 2
        return {"peak_bytes": max(0, grown) if seen else None}

    def plan(self) -> Answer:
        """What axiomjit's plan of the prepared case costs."""
        assert self.workload is not None
        try:
            cost = jit(self.workload.function, strict=True).lower(*self.arguments).cost
        except AxiomError:  # the first call has said why
            return {"cost": None}
        return {"cost": {name: getattr(cost, name) for name in Cost._fields}}

    def limits(self, pinned: bool, threads: int, spent_s: float) -> Answer:
        """The machine's own limits."""
        pin(pinned)
        return measure_limits(threads, spent_s)

    def _timed(self, repeat: int) -> float:
        call, repeat_all = self.call, range(repeat * self.planted)
        gc.disable()
        waited, others = waiting_s(), other_threads_s()
        started = time.perf_counter()
        for _ in repeat_all:
            call()
        taken = time.perf_counter() - started
        gc.enable()
        lost = waiting_s() - waited
        # What another thread did in the meantime may be told only at the system's next tick; so
        # where most of the time was lost, it may have been at work.
        if other_threads_s() - others < ALONE * taken and lost < taken / 2:
            taken -= lost
        return taken / repeat


def interruptions() -> int:
    """How often the system gave a core of this process to another one, 0 where it does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def waiting_s() -> float:
    """How long this thread could have run but had no core, 0 where the system does not tell."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def other_threads_s() -> float:
    """Processor time of the other threads of this process."""
    return time.process_time() - time.thread_time()


def result_bytes(result: object) -> int:
    """Memory that belongs to results, small ones left out."""
    sizes = (getattr(leaf, "nbytes", 0) for leaf in flatten_tree(result)[0] if not _is_view(leaf))
    return sum(size for size in sizes if size >= LARGE_BYTES)


def _is_view(leaf: object) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.base is not None


def pin(pinned: bool) -> None:
    """Stay on one core, so that no library can use more, whatever it thinks of threads."""
    if pinned and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def _give_back_memory() -> None:
    """Let each larger block come from the system again, so that growth is seen."""
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
    """Do what each line asks until there are no more."""
    for line in lines:
        asked = json.loads(line)
        if asked["do"] == "end":
            os._exit(0)  # the parent answers
        try:
            answer(getattr(session, asked.pop("do"))(**asked))
        except Stop as stop:
            answer({"status": stop.args[0], "reason": stop.args[1]})


def main() -> None:
    """Serve this process's own pipe; what libraries print goes to standard error."""
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
