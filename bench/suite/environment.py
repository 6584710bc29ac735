"""Read the environment of a run, as the result file records it."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import numpy as np

from axiomjit.base.commands import package_version
from axiomjit.bench.suite.checkout import checkout
from axiomjit.bench.suite.records import Environment
from axiomjit.runtime.execution.workers import available_threads

PACKAGES: Final = (
    *("axiomjit", "numpy", "numba", "llvmlite", "numexpr", "jax", "jaxlib"),
    *("torch", "opt_einsum"),
)
LIMITS: Final = (
    *("AXIOMJIT_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"),
    *("NUMBA_NUM_THREADS", "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "XLA_FLAGS"),
)
VECTORS: Final = ("sse4.2", "avx", "fma", "f16c", "neon", "sve", "rvv", "vsx")
GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def read_environment() -> Environment:
    """Return the environment now; `load_end` is the same as `load_start`."""
    commit, modified = _commit()
    load = read_load()
    versions = {name: package_version(name, "") for name in PACKAGES}
    return Environment(
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        machine=machine(),
        cpu=_cpu(),
        cores=available_threads(),
        features=_features(),
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
    """Return a name of this machine: a hash of CPU, cores and gigabytes of memory."""
    facts = (_cpu(), _features(), os.cpu_count(), _memory_bytes() // 2**30)
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:8]


def read_load() -> float:
    """Return the load average over a minute, 0 where the system has none."""
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


def _features() -> str:
    from llvmlite import binding

    try:
        found = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this CPU
        return ""
    return " ".join(sorted(f for f, on in found.items() if on and f.startswith(VECTORS)))


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
    """Return the commit of the clone that axiomjit is imported from, and whether files differ."""
    root = checkout()
    if root is None or not (root / ".git").exists():
        return None, False
    try:
        texts = [
            subprocess.run(
                ["git", "-C", str(root), *words], capture_output=True, text=True, check=True
            ).stdout.strip()
            for words in (["rev-parse", "HEAD"], ["status", "--porcelain"])
        ]
    except (OSError, subprocess.CalledProcessError):
        return None, False
    return texts[0], bool(texts[1])
