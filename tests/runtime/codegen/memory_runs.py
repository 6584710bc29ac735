"""Campaigns on the memory of kernels: how much the process grows for each, in the long run.

`python -m tests.runtime.codegen.memory_runs kernels --budget 10000` runs that many kernels, all of
which plans hold; they are made by LLVM alone, in a millisecond each. Instead of `kernels`,
`functions --budget 2000` compiles that many functions and drops each. A bound is checked where one
is given.
"""

import argparse
import ctypes
import gc
import os
import sys
from pathlib import Path

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.runtime.codegen.kernel_cache import MAX_IDLE_KERNELS, KernelCache
from tests.runtime.object_cache.object_runs import Planted, planted_kernel

STATM = Path("/proc/self/statm")
TERMS = ("x*x", "x*2.5", "(x>1)", "np.abs(x)", "x.sum()")


def resident_bytes():
    """The memory of this process."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def grown_bytes(step, first, count):
    """How much the process grows by `step(k)` for each k of `count`, after the `first` of them."""
    for k in range(first):
        step(k)
    before = resident_bytes()
    for k in range(first, first + count):
        step(k)
    return resident_bytes() - before


def run_kernels(first, count, most):
    """The growth by kernels that plans hold, of which `most` may be loaded."""
    cache = KernelCache(lambda kernel, checked: Planted(int(kernel.key.split()[-1])))
    held, words = [], (ctypes.c_int64 * 1)()

    def run(number):
        handle = cache.handle(planted_kernel(number))
        held.append(handle)
        handle.get().entry(ctypes.addressof(words), 0, 1)
        assert words[0] == number

    before, config.kernels = config.kernels, most
    try:
        return grown_bytes(run, first, count)
    finally:
        config.kernels = before


def function_of(number):
    """A compiled function that no other number has: a sum of terms, one per digit."""
    terms = (TERMS[int(digit)] for digit in np.base_repr(number + len(TERMS), len(TERMS)))
    return axiomjit.jit(eval("lambda x: " + "+".join(terms), {"np": np}))


def run_functions(first, count):
    """The growth by functions that are compiled, called and dropped."""
    x = np.ones(3)
    return grown_bytes(lambda number: function_of(number)(x), first, count)


def main():
    """Run one campaign."""
    parser = argparse.ArgumentParser(prog="tests.runtime.codegen.memory_runs", description=__doc__)
    parser.add_argument("campaign", choices=["kernels", "functions"])
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--most-bytes", type=int, help="growth per kernel that is too much")
    given = parser.parse_args()
    first = min(given.budget // 2, MAX_IDLE_KERNELS + 50)
    if given.campaign == "kernels":
        first = min(given.budget // 2, config.kernels)
        grown = run_kernels(first, given.budget - first, config.kernels)
    else:
        config.cache_mb = 0
        grown = run_functions(first, given.budget - first)
    each = grown / (given.budget - first)
    print(f"{given.campaign}: after {first}, {given.budget - first} more: {grown / 2**20:.1f} MiB")
    print(f"{each / 1024:.2f} KiB each, {resident_bytes() / 2**20:.0f} MiB in all")
    return int(given.most_bytes is not None and each > given.most_bytes)


if __name__ == "__main__":
    sys.exit(main())
