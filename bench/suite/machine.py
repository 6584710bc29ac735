"""Describe the machine of a run, and measure its bandwidth and its peak arithmetic.

Each limit is the best of many tries, since a limit is not a typical value.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import re
import subprocess
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit import jit
from axiomjit.base.commands import package_version, vector_extensions
from axiomjit.bench.suite.records import Environment
from axiomjit.bench.suite.results import checkout
from axiomjit.runtime.execution.workers import available_threads

PACKAGES: Final = (
    *("axiomjit", "numpy", "numba", "llvmlite", "numexpr", "jax", "jaxlib"),
    *("torch", "opt_einsum"),
)
LIMITS: Final = (
    *("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "XLA_FLAGS"),
)
GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
TRIAD_ELEMENTS: Final = (32_768, 1_000_000, 8_000_000)
"""The numbers of doubles in an array of a triad: of arrays that fit in caches, of arrays as large
as in most cases, and of arrays in memory.
"""
SECONDS_PER_FIGURE: Final = 0.4
"""The seconds that are spent on each figure."""
TRIES: Final = 10
CHAINS: Final = 12
"""The number of independent chains of multiply-adds, more than a CPU can run at a time."""
PEAK_ITERATIONS: Final = 20_000
VECTOR_BYTES: Final = {"avx512f": 64, "avx": 32}
VECTOR_FMA: Final = re.compile(r"vfmadd\d+p[sd]\b")


def read_environment() -> Environment:
    """Return the current environment; `load_end` is equal to `load_start`."""
    commit, modified = _commit()
    load = read_load()
    versions = {name: package_version(name, "") for name in PACKAGES}
    return Environment(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        machine=machine(),
        cpu=_cpu(),
        cores=available_threads(),
        features=vector_extensions(),
        governor=_text(GOVERNOR) or None,
        memory_bytes=_memory_bytes(),
        load_start=load,
        load_end=load,
        os=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        blas=_blas(),
        versions={name: version for name, version in versions.items() if version},
        thread_limits={name: os.environ[name] for name in LIMITS if name in os.environ},
        commit=commit,
        modified=modified,
    )


def machine() -> str:
    """Return a name of this machine, which is a hash of its CPU, cores and gigabytes of memory."""
    facts = (_cpu(), vector_extensions(), os.cpu_count(), _memory_bytes() // 2**30)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:8]


def read_load() -> float:
    """Return the load average over a minute; 0 if the system does not report it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _cpu() -> str:
    for line in _text(Path("/proc/cpuinfo")).splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _memory_bytes() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, AttributeError, OSError):
        return 0


def _blas() -> str:
    settings = np.show_config(mode="dicts") or {}
    blas = settings.get("Build Dependencies", {}).get("blas", {})
    return f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()


def _commit() -> tuple[str | None, bool]:
    """Return the commit of axiomjit's clone, and True if files differ from the commit."""
    root = checkout()
    if root is None or not (root / ".git").exists():
        return None, False

    def git(*words: str) -> str:
        command = ["git", "-C", str(root), *words]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    try:
        return git("rev-parse", "HEAD"), bool(git("status", "--porcelain"))
    except (OSError, subprocess.CalledProcessError):
        return None, False


def measure_limits(threads: int, spent_s: float = SECONDS_PER_FIGURE) -> dict[str, Any]:
    """Measure the limits for a number of threads; return the fields of `records.Limits`."""
    kinds = {"f8": "double", "f4": "float"}
    rates = {name: peak_flops(kind, threads, spent_s / 2) for name, kind in kinds.items()}
    return {"threads": threads, "triads": triads(spent_s), "flops_per_s": rates}


def triads(spent_s: float) -> list[dict[str, float]]:
    """Return the bandwidth of `b + 3.0 * c` for each size, without the constant time of a call."""
    _keep_memory()
    triad = jit(lambda b, c: b + 3.0 * c, strict=True)
    one = np.ones(1)
    call_s = _fastest(lambda: triad(one, one), spent_s / 8)
    found = []
    for n in TRIAD_ELEMENTS:
        b, c = np.ones(n), np.ones(n)
        taken = _fastest(lambda b=b, c=c: triad(b, c), spent_s)  # type: ignore[misc]
        moved = 3 * b.nbytes
        found.append({"bytes": moved, "bytes_per_s": moved / max(taken - call_s, taken / 10)})
    return found


def _fastest(call: Callable[[], Any], budget_s: float) -> float:
    call()  # compiles
    times: list[float] = []
    end = time.perf_counter() + budget_s
    while len(times) < TRIES or time.perf_counter() < end:
        started = time.perf_counter()
        call()
        times.append(time.perf_counter() - started)
    return min(times)


def _keep_memory() -> None:
    """Make the C library keep freed memory, since page faults would reduce the bandwidth."""
    try:
        library = ctypes.CDLL(None)
        library.mallopt(-4, 0)  # M_MMAP_MAX: never map single blocks
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    except (OSError, AttributeError):  # another C library
        return


def fma_source(kind: str, lanes: int) -> str:
    """Return the LLVM IR of a loop of independent chains of fused multiply-adds."""
    vector, chains = f"<{lanes} x {kind}>", range(CHAINS)
    fma = f"{vector} @llvm.fma.v{lanes}{'f64' if kind == 'double' else 'f32'}"
    # The factors are arguments: with constants LLVM would compute the loop at compile time.
    steps = (f"%b{k} = call {fma}({vector} %a{k}, {vector} %x, {vector} %y)" for k in chains)
    sums = (f"%t{k} = fadd {vector} %{f't{k - 1}' if k > 1 else 'b0'}, %b{k}" for k in chains[1:])
    return "\n".join([
        f"declare {fma}({vector}, {vector}, {vector})",
        f"define void @peak(i64 %turns, {kind} %p, {kind}* %out) {{",
        "entry:",
        f"%x0 = insertelement {vector} undef, {kind} %p, i32 0",
        f"%x = shufflevector {vector} %x0, {vector} undef, <{lanes} x i32> zeroinitializer",
        f"%y = fmul {vector} %x, %x",
        *(f"%s{k} = insertelement {vector} %y, {kind} %p, i32 {k % lanes}" for k in chains),
        "br label %loop",
        "loop:",
        "%i = phi i64 [ 0, %entry ], [ %j, %loop ]",
        *(f"%a{k} = phi {vector} [ %s{k}, %entry ], [ %b{k}, %loop ]" for k in chains),
        *steps,
        "%j = add i64 %i, 1",
        "%more = icmp slt i64 %j, %turns",
        "br i1 %more, label %loop, label %end",
        "end:",
        *sums,
        f"%first = extractelement {vector} %t{CHAINS - 1}, i32 0",
        f"store {kind} %first, {kind}* %out",
        "ret void",
        "}",
    ])  # fmt: skip


def peak_flops(kind: str, threads: int, spent_s: float) -> float | None:
    """Return operations per second, two for a multiply-add; None if the loop is not vector code."""
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    wide = next((size for name, size in VECTOR_BYTES.items() if features.get(name)), 16)
    lanes = wide // (8 if kind == "double" else 4)
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    machine = binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=features.flatten(), opt=2
    )
    module = binding.parse_assembly(fma_source(kind, lanes))
    if len(VECTOR_FMA.findall(machine.emit_assembly(module))) < CHAINS:
        return None
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    number: Any = ctypes.c_double if kind == "double" else ctypes.c_float
    entry = ctypes.CFUNCTYPE(None, ctypes.c_int64, number, ctypes.POINTER(number))(
        engine.get_function_address("peak")
    )
    taken = _on_threads(
        lambda: entry(PEAK_ITERATIONS, 0.5, ctypes.byref(number())), threads, spent_s
    )
    return 2 * lanes * CHAINS * PEAK_ITERATIONS * threads / taken


def _on_threads(work: Callable[[], object], threads: int, spent_s: float) -> float:
    """Return the shortest time of the work, when all threads do it at the same time."""
    best, end = float("inf"), time.perf_counter() + spent_s
    barrier = threading.Barrier(threads)
    times: list[float] = [0.0] * threads

    def run(k: int) -> None:
        barrier.wait()
        started = time.perf_counter()
        for _ in range(4):
            work()
        times[k] = (time.perf_counter() - started) / 4

    while best == float("inf") or time.perf_counter() < end:
        group = [threading.Thread(target=run, args=(k,)) for k in range(threads)]
        for thread in group:
            thread.start()
        for thread in group:
            thread.join()
        best = min(best, max(times))
    return best
