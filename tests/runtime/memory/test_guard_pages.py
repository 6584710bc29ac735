"""Compiled programs touch nothing beside their buffers: each lies against a protected page.

The pages kill a process that touches them, so the programs run in one of their own.
"""

import signal
import subprocess
import sys

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from tests.generator.budget import budget
from tests.passes.examples import NAMES
from tests.runtime.memory.guards import PAGE, SIDES, guard_pages, guarded
from tests.structure.sources import ROOT

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect of Linux")
COUNT = budget(40)
BASE = np.arange(60.0).reshape(3, 4, 5)
LAYOUTS = {
    "dense": BASE,
    "fortran": np.asfortranarray(BASE),
    "backward": BASE[::-1, ::2, ::-1],
    "broadcast": np.broadcast_to(BASE[:1], (7, 4, 5)),
    "windows": sliding_window_view(BASE[0, 0], 3),
    "pages": np.arange(1024.0),
    "swapped": np.arange(7, dtype=">i2"),
    "number": np.array(5.0),
    "empty": BASE[:0],
}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("name", LAYOUTS)
def test_guarded_arrays_lie_at_the_page(name, side):
    array = LAYOUTS[name]
    placed = guarded(array, side)
    np.testing.assert_array_equal(placed, array, strict=True)
    assert placed.strides == array.strides
    assert placed.flags.writeable == array.flags.writeable
    low, high = np.lib.array_utils.byte_bounds(placed)
    if placed.size:
        assert (low if side == "before" else high) % PAGE == 0


@pytest.mark.parametrize("side", SIDES)
def test_what_the_executor_allocates_lies_at_the_page(side):
    from axiomjit.runtime.memory import allocation

    with guard_pages(side):
        array = allocation.allocate((3, 5), np.dtype("f4"))
    low, high = np.lib.array_utils.byte_bounds(array)
    assert (low if side == "before" else high) % PAGE == 0
    assert array.shape == (3, 5)
    assert np.isnan(array).all()


def run(module, *arguments):
    """A process of its own."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def test_examples_touch_nothing_beside_their_buffers():
    done = run("tests.runtime.memory.guard_runs", "examples")
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    assert done.stdout.count("example") == len(NAMES)


def test_programs_touch_nothing_beside_their_buffers():
    options = ("--programs", COUNT, "--compiled", COUNT, "--seed", 1, "--guard")
    done = run("tests.generator.campaign", *options)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    words = done.stdout.splitlines()[-1].split()
    compiled, kernels, served = int(words[2]), int(words[4]), int(words[6])
    assert compiled == COUNT
    assert kernels > COUNT / 2
    assert served > COUNT / 8


PLANTED = [
    *(("i0", "i0+1", "after", "a0"), ("i0", "i0-1", "before", "a0")),
    *(("i0+1", "i0", "after", "o0"), ("i0-1", "i0", "before", "o0")),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("to", "source", "side", "buffer"), PLANTED)
def test_planted_access_beside_a_buffer_faults(to, source, side, buffer):
    done = run("tests.runtime.memory.guard_runs", "planted", to, source, side)
    assert done.returncode == -signal.SIGSEGV, done
    assert "Segmentation fault" in done.stderr
    assert "execute.py" in done.stderr


def test_planted_access_inside_does_not_fault():
    assert run("tests.runtime.memory.guard_runs", "planted", "i0", "8-i0", "after").returncode == 0
