"""The compared libraries: import them, and prepare a workload for them.

All functions of this module run in the peer's own process (see `worker`). `load` imports the
modules that the compilation needs. `prepare` returns the call that is timed, and compiles nothing.
Arguments are converted to the library's own arrays before the timing; results are not converted.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit import jit
from axiomjit.base.errors import AxiomError, BenchError
from axiomjit.base.records import Record
from axiomjit.bench.suite import workload as workload_module
from axiomjit.bench.suite.records import NUMPY, OURS
from axiomjit.bench.suite.results import PACKAGE
from axiomjit.bench.suite.workload import Workload, with_module

Call = Callable[[], Any]
Arguments = tuple[Any, ...]
NUMBA, PARALLEL = "numba", "numba-parallel"


class Refused(Exception):
    """Raised if the library cannot run the workload; the message has the reason."""


class PeerKind(Record):
    """A library: its module, and the function that prepares a workload for it.

    `prepare(workload, arguments)` raises Refused if the library cannot express the workload.
    `needs` lists modules that `load` imports, so that the first call does not import them. `cache`
    is the environment variable for the folder of compiled code, or empty. `variables` are further
    environment variables. If `serial` is true, the library is also measured with one thread.
    """

    name: str
    module: str
    prepare: Callable[[Workload, Arguments], Call]
    needs: tuple[str, ...] = ()
    cache: str = ""
    variables: Mapping[str, str] = {}
    serial: bool = True

    def environment(self, folder: str) -> dict[str, str]:
        """Return the environment variables for a folder of the library's compiled code."""
        return {**({self.cache: folder} if self.cache else {}), **self.variables}

    def load(self) -> None:
        """Import the library.

        Raises:
            ImportError: the library is not installed, or cannot be imported on this system.
        """
        for name in (self.module, *self.needs):
            importlib.import_module(name)


def _numpy(workload: Workload, arguments: Arguments) -> Call:
    function = workload.function
    return lambda: function(*arguments)


def _axiomjit(workload: Workload, arguments: Arguments) -> Call:
    jitted = jit(
        workload.function, strict=True
    )  # steps may run in NumPy, but not the whole function
    return lambda: jitted(*arguments)


def _numexpr(workload: Workload, arguments: Arguments) -> Call:
    import numexpr

    if not workload.numexpr:
        raise Refused("the case has no expression for it")
    expression, named = workload.numexpr, workload.bindings(arguments)
    numexpr.set_num_threads(_threads())
    evaluate = numexpr.evaluate
    return lambda: evaluate(expression, local_dict=named)


def _numba(parallel: bool) -> Callable[[Workload, Arguments], Call]:
    def prepare(workload: Workload, arguments: Arguments) -> Call:
        import numba

        function = workload.loops or workload.function
        own = with_module(function, {id(workload_module.prange): numba.prange})
        compiled = numba.njit(cache=True, parallel=parallel)(own)
        return lambda: compiled(*arguments)

    return prepare


def _jax(workload: Workload, arguments: Arguments) -> Call:
    import jax

    function = jax.jit(with_module(workload.function, {id(np): jax.numpy}))
    moved = [jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    wait = jax.block_until_ready
    return lambda: wait(function(*moved))


def _torch(workload: Workload, arguments: Arguments) -> Call:
    import torch

    torch.set_num_threads(_threads())
    compiled = torch.compile(workload.function, fullgraph=True)
    return lambda: compiled(*arguments)


def _opt_einsum(workload: Workload, arguments: Arguments) -> Call:
    import opt_einsum

    if not workload.einsum:
        raise Refused("the case is not one contraction of its arguments")
    spec, contract = workload.einsum, opt_einsum.contract
    return lambda: contract(spec, *arguments)


JAX: Final = {
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    "JAX_ENABLE_X64": "1",
    "JAX_PLATFORMS": "cpu",
}
COMPILER: Final = "axiomjit.runtime.codegen.compile_source"
KINDS: Final = (
    PeerKind(NUMPY, "numpy", _numpy),
    PeerKind(OURS, "axiomjit", _axiomjit, (COMPILER,), "AXIOMJIT_CACHE_DIR"),
    PeerKind("numexpr", "numexpr", _numexpr),
    PeerKind(NUMBA, "numba", _numba(False), (), "NUMBA_CACHE_DIR"),
    PeerKind(PARALLEL, "numba", _numba(True), (), "NUMBA_CACHE_DIR", serial=False),
    PeerKind("jax", "jax", _jax, (), "JAX_COMPILATION_CACHE_DIR", JAX),
    PeerKind("torch", "torch", _torch, ("torch._dynamo",), "TORCHINDUCTOR_CACHE_DIR"),
    PeerKind("opt_einsum", "opt_einsum", _opt_einsum),
)
PEERS: Final = {kind.name: kind for kind in KINDS}
ALWAYS: Final = (NUMPY, OURS)
SLOW: Final = ("torch",)
"""The peers that are compared only by name, since they compile for seconds in each case."""


def chosen(names: Sequence[str], quick: bool) -> tuple[str, ...]:
    """Return the peers to measure; without names, all peers except slow peers.

    NumPy and axiomjit are always measured. The name `numba` stands for serial and parallel code; in
    a quick run, only for serial code.

    Raises:
        BenchError: a name is not the name of a peer.
    """
    wanted = list(names) or [name for name in PEERS if name not in SLOW and name != PARALLEL]
    if not names and not quick or NUMBA in names and not quick:
        wanted.append(PARALLEL)
    for name in wanted:
        if name not in PEERS:
            remedy = f"one of {', '.join(PEERS)}"
            raise BenchError(f"compare with {name}", "no peer of that name", remedy)
    return tuple(name for name in PEERS if name in ALWAYS or name in wanted)


def reason(error: BaseException) -> str:
    """Return the reason in the error of a library, on one line."""
    if isinstance(error, Refused):
        return str(error)
    if isinstance(error, AxiomError):
        return f"{error.asked}: {error.seen}"
    # Libraries name our files in full; a kept result should not contain the path of the tree.
    text = str(error).replace(f"{PACKAGE.parent}{os.sep}", "")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{type(error).__name__}: {' '.join(lines)[:160]}" if lines else type(error).__name__


def _threads() -> int:
    """Return the number of threads, for libraries that must be given the number."""
    limit = os.environ.get("OMP_NUM_THREADS", "")
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(int(limit) if limit.isdecimal() and int(limit) else 10**6, usable or 1)
