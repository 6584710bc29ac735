"""Measure the first call of a process, without or with kernels on disk.

`python -m axiomjit.bench.compiling.first` starts processes in turns. Each process computes `2 * x +
y` of 1000 doubles, with axiomjit or with JAX. If `--other` names the root of another clone, a third
process uses the axiomjit of that clone. The table has medians in milliseconds: of the import, of
the first call, which imports Numba, and of their sum; and the medians of the ratios within a round.
With `--warm`, an earlier process has stored the kernels on disk. The byte code of all libraries is
kept between processes.
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
    """The times of the import and of the first call of a process, in milliseconds."""

    importing: float
    call: float

    @property
    def both(self) -> float:
        """The time from the start of the import to the first result."""
        return self.importing + self.call


def first_call(program: str, root: Path, kernels: Path, code: Path) -> First:
    """Run a program in a new process, with folders for its kernels and its byte code.

    Raises:
        CalledProcessError: the process ended with an error.
    """
    folders = {"AXIOMJIT_CACHE_DIR": str(kernels), "PYTHONPYCACHEPREFIX": str(code)}
    others = {"PYTHONDONTWRITEBYTECODE": "", "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(root)}
    environment = os.environ | folders | others
    command = [sys.executable, "-c", program]
    output = subprocess.run(
        command, env=environment, cwd=root, capture_output=True, text=True, check=True
    )
    importing, call = map(float, output.stdout.split())
    return First(importing, call)


def measure(
    programs: Mapping[str, tuple[str, Path]], rounds: int, *, warm: bool = False
) -> dict[str, list[First]]:
    """Run all programs in each round; the first round, which is not counted, fills file caches."""
    found: dict[str, list[First]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        code = Path(folder, "code")
        for number in range(rounds + 1):
            kernels = Path(folder, "kernels" if warm else f"kernels{number}")
            for name, (program, root) in programs.items():
                first = first_call(program, root, kernels / name, code)
                if number:
                    found[name].append(first)
    return found


def main() -> None:
    """Measure all programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--other", type=Path, help="the root of another clone")
    parser.add_argument("--warm", action="store_true", help="keep kernels on disk")
    arguments = parser.parse_args()
    here = Path.cwd()
    programs = {"axiomjit": (OURS, here), "JAX": (JAX, here)}
    if arguments.other is not None:
        programs["other clone"] = (OURS, arguments.other.resolve())
    found = measure(programs, arguments.rounds, warm=arguments.warm)
    print("| | import ms | first call ms | both ms | axiomjit's by its first call | both |")
    print("|---|---|---|---|---|---|")
    for name, firsts in found.items():
        importing = median(first.importing for first in firsts)
        call = median(first.call for first in firsts)
        both = median(first.both for first in firsts)
        pairs = list(zip(found["axiomjit"], firsts, strict=True))
        calls = median(ours.call / other.call for ours, other in pairs)
        ratio = median(ours.both / other.both for ours, other in pairs)
        figures = f"{importing:.0f} | {call:.0f} | {both:.0f} | {calls:.2f} | {ratio:.2f}"
        print(f"| {name} | {figures} |")


if __name__ == "__main__":
    main()
