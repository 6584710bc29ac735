"""Prints peak memory and time of programs of Dask arrays, compiled and by plain Dask.

`python -m tests.programs.block_programs [NAME ...]`: megabytes (2**20 bytes) of resident memory
beyond what the process has before it computes, at most, and seconds of its processor. Each figure
is that of a process of its own, which computes a small array first, so that kernels are compiled.
The blocks are drawn by tasks; results are small. `--bytes N` are the bytes of a block, `--blocks N`
their number, `--workers N` the threads of the scheduler.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.programs.peak_memory import own_peak

DASK, OURS = "dask", "compiled"
GOAL = 0.5
"""A compiled function is to take at most this share of plain Dask's peak memory."""
SIZE, BLOCKS, WORKERS = 2**25, 16, 2
ROOT = Path(__file__).resolve().parents[2]


def chain(x):
    y = np.sqrt(np.abs(np.sin(x) * 2.0 + x * x - 0.5)) * np.exp(-x * x) + 1.0
    return y.mean(), y.std(0)


def standardised(x):
    return ((x - x.mean(0)) / x.std(0)).max(1)


def product(x):
    return x.T @ x


def scan(x):
    return np.cumsum(x, axis=0).max(0)


def stencil(x):
    inner = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1]
    return (inner * inner).sum()


def climatology(x):
    return x.groupby("time.month").mean()


PROGRAMS = {one.__name__: one for one in (chain, standardised, product, scan, stencil, climatology)}


def argument(name, size, blocks):
    """Blocks of a size in a column, or in a square for products and stencils."""
    import dask.array as da

    across = 2 if name == "stencil" and blocks > 1 else 1
    columns = 200 if name == "product" else 1000
    rows = max(size // 8 // columns, 30)
    shape = rows * blocks // across, columns * across
    x = da.random.default_rng(0).normal(size=shape, chunks=(rows, columns))
    if name != "climatology":
        return x
    import pandas as pd
    import xarray as xr

    days = pd.date_range("1900-01-01", periods=shape[0], freq="h")
    return xr.DataArray(x, dims=("time", "place"), coords={"time": days})


def results(name, way, size, blocks):
    """The lazy results of a program, in a list."""
    import axiomjit as aj

    function = PROGRAMS[name] if way == DASK else aj.jit(PROGRAMS[name], strict=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = function(argument(name, size, blocks))
    return list(made) if isinstance(made, tuple) else [made]


class Cost(NamedTuple):
    """Megabytes at most and processor seconds of a program: by plain Dask, compiled."""

    name: str
    dask: tuple
    ours: tuple

    @property
    def ratio(self):
        return self.ours[0] / self.dask[0]


def run(name, way, size, blocks, workers):
    """The bytes at most and the processor seconds of a program in this process."""
    import dask

    dask.compute(results(name, way, 2**16, 3), scheduler="threads", num_workers=workers)
    gc.collect()
    made = results(name, way, size, blocks)
    before = resident()
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    start = time.process_time()
    dask.compute(made, scheduler="threads", num_workers=workers)
    return max(own_peak() - before, 1), time.process_time() - start


def resident():
    """The resident memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def measured(name, size=SIZE, blocks=BLOCKS, workers=WORKERS):
    """The cost of a program, in processes of its own."""
    found = []
    for way in (DASK, OURS):
        command = [sys.executable, "-m", "tests.programs.block_programs", "--run", way, name]
        command += [f"--bytes={size}", f"--blocks={blocks}", f"--workers={workers}"]
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        done = subprocess.run(
            command, env=os.environ | {"PYTHONPATH": paths}, stdout=subprocess.PIPE, check=True
        )
        peak, seconds = json.loads(done.stdout)
        found.append((peak / 2**20, seconds))
    return Cost(name, *found)


def table(costs):
    """The lines of the table, and those of programs that miss the goal."""
    lines = [f"{'program':14}{'dask MB':>9}{'MB':>8}{'ratio':>8}{'dask s':>9}{'s':>8}"]
    for one in costs:
        sizes = f"{one.dask[0]:9.0f}{one.ours[0]:8.0f}{one.ratio:8.2f}"
        lines.append(f"{one.name:14}{sizes}{one.dask[1]:9.2f}{one.ours[1]:8.2f}")
    missed = [one.name for one in costs if one.ratio > GOAL]
    return [*lines, *(f"missed: {name} takes more than {GOAL} of plain Dask's" for name in missed)]


def main():
    """Print the table, or the cost of one program in this process."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; without one, all")
    parser.add_argument("--bytes", type=int, default=SIZE, help="of a block")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--workers", type=int, default=WORKERS, help="threads of the scheduler")
    parser.add_argument("--run", choices=(DASK, OURS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.names) - set(PROGRAMS):
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    sizes = given.bytes, given.blocks, given.workers
    if given.run:
        print(json.dumps(run(given.names[0], given.run, *sizes)))
        return
    costs = (measured(name, *sizes) for name in given.names or PROGRAMS)
    print("\n".join(table(list(costs))))


if __name__ == "__main__":
    main()
