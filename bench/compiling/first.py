"""The first call of a process that has compiled nothing, with nothing on disk.

`python -m bench.compiling.first` starts processes in turns: one calls `2 * x + y` of 1000 doubles
with axiomjit, one with JAX; given the root of another clone, a third calls it with the axiomjit
there. It prints medians in milliseconds, of importing and of the first call, which imports
Numba; and the median of the ratios of first calls in each round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple

PROGRAM: Final = """
import time
start = time.perf_counter()
import numpy as np
{imports}
imported = time.perf_counter()
x = np.arange(1000.0)
{call}
print((imported - start) * 1e3, (time.perf_counter() - imported) * 1e3)
"""
OURS: Final = PROGRAM.format(
    imports="import axiomjit", call="axiomjit.jit(lambda x, y: 2.0 * x + y)(x, x)"
)
JAX: Final = PROGRAM.format(
    imports="import jax\njax.config.update('jax_enable_x64', True)",
    call="jax.jit(lambda x, y: 2.0 * x + y)(x, x).block_until_ready()",
)


class First(NamedTuple):
    """Milliseconds."""

    importing: float
    call: float


def first_call(program: str, root: Path) -> First:
    """Run a program in a new process, which finds no compiled code.

    Raises:
        CalledProcessError: the process failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        empty = {"AXIOMJIT_CACHE_DIR": folder, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
        command = [sys.executable, "-c", program]
        output = subprocess.run(
            command, env=os.environ | empty, cwd=root, capture_output=True, text=True, check=True
        )
    importing, call = map(float, output.stdout.split())
    return First(importing, call)


def measure(programs: Mapping[str, tuple[str, Path]], rounds: int) -> dict[str, list[First]]:
    """Run all programs in each round; the first round is for what the system keeps of files."""
    found: dict[str, list[First]] = {name: [] for name in programs}
    for number in range(rounds + 1):
        for name, (program, root) in programs.items():
            first = first_call(program, root)
            if number:
                found[name].append(first)
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--other", type=Path, help="the root of another clone")
    arguments = parser.parse_args()
    here = Path.cwd()
    programs = {"axiomjit": (OURS, here), "JAX": (JAX, here)}
    if arguments.other is not None:
        programs["other clone"] = (OURS, arguments.other.resolve())
    found = measure(programs, arguments.rounds)
    print("| | import ms | first call ms | axiomjit's by its first call |")
    print("|---|---|---|---|")
    for name, firsts in found.items():
        importing = median(first.importing for first in firsts)
        call = median(first.call for first in firsts)
        pairs = zip(found["axiomjit"], firsts, strict=True)
        ratio = median(ours.call / other.call for ours, other in pairs)
        print(f"| {name} | {importing:.0f} | {call:.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
