"""Prints the peak memory of programs with `axiomjit.numpy`, divided by that with NumPy.

`python -m tests.programs.peak_memory [NAME ...]`: megabytes (2**20 bytes) of resident memory that a
process had at most, from its start to its end (VmHWM), and the ratio: with kernels on disk, and in
the last columns with kernels that the process compiles itself, by Numba and LLVM in its memory.
Each figure is that of a process of its own, in which a program runs several times: while its
operations are new, known, and compiled. `--bytes N` are the bytes of an array, `--passes K` those
of its loop.
"""

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

NUMPY, OURS = "numpy", "axiomjit.numpy"
GOAL = 1.1
"""Ours is to be at most this multiple of NumPy's, with kernels on disk."""
SIZE, PASSES, CALLS = 2**26, 6, 4
ROOT = Path(__file__).resolve().parents[2]


def chain(np, n, passes):
    x, y = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        z = (x * 2 + y) * 0.5 - x
    return z


def update(np, n, passes):
    a, b = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        a = a * 0.9 + b
    return a


def momentum(np, n, passes):
    w, v, t = np.zeros(n), np.zeros(n), np.linspace(0.0, 1.0, n)
    for _ in range(passes):
        v = v * 0.9 - 0.1 * (w - t)
        w = w + v
    return w


def several(np, n, passes):
    x, y = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        a = x + y
        b = x * y - a
        c = a * b + 1.0
        d = (a - b) * 0.5 + c
        z = d * d - a * c
    return z


def total(np, n, passes):
    x, y = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        s = float(((x * 2 + y) * 0.5 - x * y).sum())
    return s


def standardised(np, n, passes):
    x = np.linspace(0.0, 1.0, n)
    for _ in range(passes):
        z = (x - x.mean()) / x.std()
    return z


def distances(np, n, passes):
    x, y = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        z = np.sqrt(x * x + y * y) * np.exp(-x) + 1.0
    return z


def clipped(np, n, passes):
    x, y = np.linspace(0.0, 1.0, n), np.full(n, 2.0)
    for _ in range(passes):
        z = np.where(x > 0.5, x * 2.0 - y, y) * 0.5
    return z


def squared(np, n):
    """A square of at most n numbers."""
    side = int(n**0.5)
    return np.linspace(0.0, 1.0, side * side).reshape(side, side)


def stencil(np, n, passes):
    u = squared(np, n)
    for _ in range(passes):
        v = u.copy()
        v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u = v
    return u


def in_place(np, n, passes):
    u = squared(np, n)
    for _ in range(passes):
        u[1:-1, 1:-1] += 0.2 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * u[1:-1, 1:-1]
        )
    return u


def leapfrog(np, n, passes):
    u = squared(np, n)
    old, inner = u * 0.5, np.zeros(u.shape)
    for _ in range(passes):
        inner[1:-1, 1:-1] = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
        u, old = 2.0 * u - old + 0.1 * (inner - 4.0 * u), u
    return u


def drawn(np, n, passes):
    rng, y = np.random.default_rng(1), np.full(n, 2.0)
    for _ in range(passes):
        z = rng.normal(size=n) * 0.1 + y
    return z


PROGRAMS = {
    one.__name__: one
    for one in (
        *(chain, update, momentum, several, total, standardised, distances, clipped),
        *(stencil, in_place, leapfrog, drawn),
    )
}


class Peak(NamedTuple):
    """Megabytes of a program in NumPy and with `axiomjit.numpy`, and where that compiles it."""

    name: str
    numpy: float
    ours: float
    compiling: float

    @property
    def ratio(self):
        return self.ours / self.numpy


def own_peak():
    """The most resident memory of this process so far, in bytes."""
    with open("/proc/self/status") as lines:
        (kilobytes,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(kilobytes) * 1024


def peak(name, module, size, passes, cache):
    """Megabytes of a process that runs a program with a module, its kernels in a folder."""
    command = [sys.executable, "-m", "tests.programs.peak_memory", "--run", module, name]
    sizes = [f"--bytes={size}", f"--passes={passes}"]
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    places = {"AXIOMJIT_CACHE_DIR": str(cache), "PYTHONPATH": paths}
    done = subprocess.run(
        [*command, *sizes], env=os.environ | places, capture_output=True, text=True, check=True
    )
    return int(done.stdout) / 2**20


def measured(name, size=SIZE, passes=PASSES):
    """The peaks of a program."""
    with tempfile.TemporaryDirectory() as cache:
        plain = peak(name, NUMPY, size, passes, cache)
        compiling = peak(name, OURS, size, passes, cache)
        return Peak(name, plain, peak(name, OURS, size, passes, cache), compiling)


def table(peaks):
    """The lines of the table, and those of programs that miss the goal."""
    heads = f"{'numpy MB':>10}{'MB':>8}{'ratio':>8}{'compiling MB':>14}{'ratio':>8}"
    lines = [f"{'program':16}{heads}"]
    for one in peaks:
        sizes = f"{one.numpy:10.0f}{one.ours:8.0f}{one.ratio:8.2f}"
        lines.append(f"{one.name:16}{sizes}{one.compiling:14.0f}{one.compiling / one.numpy:8.2f}")
    missed = [one.name for one in peaks if one.ratio > GOAL]
    return [*lines, *(f"missed: {name} takes more than {GOAL} of NumPy's" for name in missed)]


def main():
    """Print the table, or the peak of one program in this process."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; without one, all")
    parser.add_argument("--bytes", type=int, default=SIZE, help="of an array")
    parser.add_argument("--passes", type=int, default=PASSES, help="of a loop")
    parser.add_argument("--run", choices=(NUMPY, OURS), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if unknown := set(given.names) - set(PROGRAMS):
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(PROGRAMS)}")
    names = given.names or [*PROGRAMS]
    if not given.run:
        print("\n".join(table([measured(one, given.bytes, given.passes) for one in names])))
        return
    np = import_module(given.run)
    with contextlib.redirect_stdout(sys.stderr):
        for _ in range(CALLS):
            PROGRAMS[names[0]](np, given.bytes // 8, given.passes)
    print(own_peak())


if __name__ == "__main__":
    main()
