"""Commands that time first calls: what they call, what they print, and without JAX."""

import sys
from math import isnan
from pathlib import Path

import numpy as np
import pytest

from axiomjit.bench.compiling import cold, first
from axiomjit.bench.compiling.cold import FUNCTIONS
from axiomjit.runtime.execution import plan_steps

BY_NAME = {small.name: small for small in FUNCTIONS}


@pytest.mark.parametrize("name", BY_NAME)
def test_every_call_compiles_and_leaves_the_kernels_of_the_process(name):
    small, kernels = BY_NAME[name], vars(plan_steps)["KERNELS"]
    times = [cold.cold_call(small) for _ in range(2)]
    assert all(0 < took.machine < took.total for took in times)
    assert vars(plan_steps)["KERNELS"] is kernels


@pytest.mark.parametrize("name", BY_NAME)
def test_functions_take_the_modules_names(name):
    small = BY_NAME[name]
    assert np.isfinite(small.over(np)(*small.operands())).all()
    assert small.over(np) is not small.over(np)


class Peer:
    """Stands in for JAX: NumPy, whose functions take their time."""

    calls = 0

    def jit(self, function):
        """The function, counted."""
        self.calls += 1
        return function

    def peer(self):
        """What `cold` needs of a library."""
        return cold.Peer(np, self.jit, lambda result: result)


def test_peers_take_turns():
    jax = Peer()
    row = cold.measure(BY_NAME["map"], jax.peer(), 3)
    assert jax.calls == 4
    assert row.total > row.machine > 0
    assert row.ratio > 1
    assert row.figures()[2] == pytest.approx(row.total - row.machine)


def test_without_jax_the_ratios_are_missing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr(cold, "FUNCTIONS", FUNCTIONS[:1])
    monkeypatch.setattr(sys, "argv", ["cold", "--rounds", "1"])
    assert cold.jax_peer() is None
    cold.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| map | ")
    assert lines[2].endswith("| nan | nan | nan |")
    row = cold.measure(FUNCTIONS[0], None, 1)
    assert isnan(row.ratio)


def test_first_calls_are_those_of_new_processes():
    program = first.PROGRAM.format(
        imports="import sys\ntime.sleep(0.2)", call="assert 'axiomjit' not in sys.modules"
    )
    found = first.measure(
        {"nothing": (program, Path.cwd()), "axiomjit": (first.OURS, Path.cwd())}, 1
    )
    nothing, ours = found["nothing"][0], found["axiomjit"][0]
    assert 0 < nothing.call < ours.call
    assert nothing.importing > 200  # what stands among the imports counts as importing
    assert ours.both == ours.importing + ours.call


@pytest.mark.parametrize("warm", [True, False])
def test_warm_calls_find_what_an_earlier_process_compiled(warm, tmp_path):
    mark = str(tmp_path / "a process was here")
    call = f"""
axiomjit.jit(lambda x: 3.0 * x)(x)
assert axiomjit.stats()["disk_hits"] == os.path.exists({mark!r}) * {warm}
open({mark!r}, "w").close()
"""
    program = first.PROGRAM.format(imports="import os, axiomjit", call=call)
    assert len(first.measure({"ours": (program, Path.cwd())}, 1, warm=warm)["ours"]) == 1
