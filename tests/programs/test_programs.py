"""Programs in the style of their authors: compiled, they do what they do in plain Python."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning
from tests.generator.alike import Comparison
from tests.programs.table import PROGRAMS
from tests.programs.timing import SLOW, Timing, timed
from tests.programs.timing import table as timing_table

SEEDS = (1, 2, 3)
NAMES = ("rk4", "conv2d", "dict_model", "hist_equalize", "jacobi")


def calls_of(program):
    """The arguments of three calls: the first ones, which have state, stay the same."""
    calls = [program.arguments(seed, program.small) for seed in SEEDS]
    return [calls[0][: program.kept] + arguments[program.kept :] for arguments in calls]


def difference(program, results, wanted, calls, plain):
    """Where the results and the arguments after the calls differ from those of plain Python."""
    compared = Comparison(program.function.__module__)
    return compared.differs((results, calls), (wanted, plain), program.name)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_three_calls(program):
    calls, plain = calls_of(program), calls_of(program)
    wanted = [program.function(*arguments) for arguments in plain]
    compiled = axiomjit.jit(program.function)
    results = [compiled(*arguments) for arguments in calls]
    assert difference(program, results, wanted, calls, plain) is None
    assert not compiled.cache_info().in_numpy


@pytest.mark.parametrize(
    "program", [p for p in PROGRAMS if p.refused], ids=lambda program: program.name
)
def test_refused_arguments(program):
    """The error is Python's, and the arguments are what the statements before it made of them."""
    calls, plain = (program.refused(1, program.small) for _ in range(2))
    with pytest.raises((ValueError, AssertionError)) as wanted:
        program.function(*plain)
    compiled = axiomjit.jit(program.function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        compiled(*program.arguments(1, program.small))
        with pytest.raises(wanted.type) as found:
            compiled(*calls)
    assert str(found.value) == str(wanted.value)
    assert difference(program, None, None, calls, plain) is None


def test_the_table_is_sound():
    names = [program.name for program in PROGRAMS]
    assert len(names) == len(set(names)) >= 40
    assert set(NAMES) <= set(names)
    assert len({program.kind for program in PROGRAMS}) == 7
    assert sum(program.elements for program in PROGRAMS) <= 3


def test_times_are_listed_worst_first():
    rows = [Timing("fast", 2.0, 1.0, 30.0, 0, 9), Timing("slow", 1.0, 2.0, 50.0, 3, 9)]
    head, first, second, mean = timing_table(rows)
    assert " ".join(head.split()) == "program numpy ms warm ms ratio first ms in NumPy"
    why = ["no", "reason", "is", "named"]
    assert first.split() == ["slow", "1.000", "2.000", "2.00", "50", "3", "of", "9", *why]
    assert second.split() == ["fast", "2.000", "1.000", "0.50", "30"]
    assert mean == "geometric mean of 2 ratios: 1.000"


def recorded():
    """The ratio and the reason of each program in the table of the performance page."""
    page = (Path(__file__).parents[2] / "docs" / "performance.md").read_text(encoding="utf-8")
    rows = page.partition("| program |")[2].partition("\n\n")[0].splitlines()[2:]
    cells = ([cell.strip() for cell in row.strip("|").split("|")] for row in rows)
    return {name.strip("`"): (float(ratio), reason) for name, ratio, reason in cells}


def test_recorded_ratios_have_reasons():
    reasons = {program.name: program.reason for program in PROGRAMS}
    assert recorded()
    for name, (ratio, reason) in recorded().items():
        assert reasons[name] == reason
        assert reason or ratio <= SLOW


def test_a_program_is_timed():
    program = next(p for p in PROGRAMS if p.name == "conv2d")
    found = timed(program._replace(large=program.small), seconds=0)
    assert (found.name, found.in_numpy) == ("conv2d", 0)
    assert min(found.numpy, found.warm, found.first) > 0


def test_a_wrong_result_is_found():
    program = next(p for p in PROGRAMS if p.name == "dict_model")
    one, other = calls_of(program), calls_of(program)
    assert difference(program, 1.0, 1.0, one, other) is None
    assert "dict_model[0]" in difference(program, np.float64(1), np.float64(2), one, other)
    other[2][0]["b1"][3] += 1e-3
    assert "['b1']" in difference(program, 1.0, 1.0, one, other)
