"""Runs compiled programs of Dask arrays on worker processes whose memory is limited.

`python -m tests.programs.worker_programs [NAME ...] [--gigabytes 2] [--limit 2] [--kill]`: each
program draws that many gigabytes, block by block, on two processes with a limit of gigabytes each.
A line has the seconds, the largest resident memory of a worker, and the bytes written to disk. With
`--kill` one worker is killed halfway, and the result must have the same bits. A program fails if a
worker holds more than its limit or writes to disk, or if a small array gives other numbers than
NumPy.
"""

import argparse
import os
import signal
import sys
import tempfile
import threading
import time
from typing import NamedTuple

import numpy as np

from tests.programs.block_programs import chain, scan, standardised

COLUMNS = 1000
BLOCK = 2**25
"""The bytes of a block."""


def log_softmax(x):
    shifted = x - x.max(0)
    return (shifted - np.log(np.exp(shifted).sum(0))).sum()


def norm_of_stencil(x):
    inner = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1]
    return np.sqrt((inner * inner).sum())


PROGRAMS = {one.__name__: one for one in (chain, standardised, log_softmax, norm_of_stencil, scan)}


class Run(NamedTuple):
    """The results of a program, its seconds, and bytes: resident at most, written to disk."""

    found: list
    seconds: float
    resident: int
    spilled: int


def lazy_results(name, size, block=BLOCK):
    """The lazy results of a program over `size` bytes that tasks draw, and its argument."""
    import dask.array as da

    import axiomjit as aj

    rows = max(block // 8 // COLUMNS, 3)
    count = max(round(size / (rows * COLUMNS * 8)), 2)
    x = da.random.default_rng(0).normal(size=(rows * count, COLUMNS), chunks=(rows, COLUMNS))
    made = aj.jit(PROGRAMS[name], strict=True)(x)
    return list(made) if isinstance(made, tuple) else [made], x


def peak_of_worker():
    """The largest resident memory that this process has had, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def spilled_by_worker(dask_worker):
    """The bytes that a worker has written to disk."""
    metrics = getattr(dask_worker.data, "cumulative_metrics", {})
    return sum(n for key, n in metrics.items() if "disk-write" in key and "bytes" in key)


def run(name, size, limit, kill_after=None, timeout=7200.0):
    """Run a program on two new processes; one is killed `kill_after` seconds after the start."""
    import distributed

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options, memory_limit=limit) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        lazy, _ = lazy_results(name, size)
        if kill_after is not None:
            first = next(iter(client.run(os.getpid).values()))
            killing = threading.Timer(kill_after, os.kill, (first, signal.SIGKILL))
            killing.start()
        start = time.monotonic()
        found = [one.result(timeout=timeout) for one in client.compute(lazy)]
        seconds = time.monotonic() - start
        client.wait_for_workers(2, timeout=120)
        resident = max(client.run(peak_of_worker).values())
        spilled = sum(client.run(spilled_by_worker).values())
    return Run(found, seconds, resident, spilled)


def equals_numpy(name):
    """True if a program of a small array equals NumPy."""
    lazy, x = lazy_results(name, 5 * 40 * COLUMNS * 8, 40 * COLUMNS * 8)
    expected = PROGRAMS[name](x.compute())
    expected = expected if isinstance(expected, tuple) else (expected,)
    pairs = zip(lazy, expected, strict=True)
    return all(np.allclose(one.compute(), other, rtol=1e-9) for one, other in pairs)


def faults(name, size, limit, kill):
    """Run a program, print its line, and return the faults that were found."""
    one = run(name, size, limit)
    runs, found = [one], [] if equals_numpy(name) else ["other numbers than NumPy"]
    if kill:
        again = run(name, size, limit, kill_after=one.seconds / 2)
        runs.append(again)
        pairs = zip(one.found, again.found, strict=True)
        if any(a.tobytes() != b.tobytes() for a, b in pairs):
            found.append("other bits with a worker killed")
    for each in runs:
        resident, spilled = each.resident / 2**20, each.spilled / 2**20
        print(f"{name:16}{each.seconds:9.1f} s{resident:9.0f} MB{spilled:9.0f} MB written")
        if each.resident > limit:
            found.append("a worker held more than its limit")
        if each.spilled:
            found.append("a worker wrote to disk")
    return found


def main():
    """Run the programs; the status is 1 if one of them fails."""
    import dask

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(PROGRAMS)}")
    parser.add_argument("--gigabytes", type=float, default=2.0, help="that a program draws")
    parser.add_argument("--limit", type=float, default=2.0, help="gigabytes of a worker")
    parser.add_argument("--kill", action="store_true", help="kill a worker halfway, too")
    given = parser.parse_args()
    if unknown := set(given.names) - set(PROGRAMS):
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    failed = False
    with tempfile.TemporaryDirectory() as folder, dask.config.set(temporary_directory=folder):
        for name in given.names or PROGRAMS:
            found = faults(name, given.gigabytes * 1e9, round(given.limit * 1e9), given.kill)
            print("".join(f"  {one}\n" for one in found), end="", flush=True)
            failed = failed or bool(found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
