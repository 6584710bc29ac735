"""Errors of wrong programs are printed with their message and with the user's frames alone."""

import os
import pickle
import re
import subprocess
import sys
import traceback
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.origins import hides_frames, quoted_line
from tests.end_to_end import wrong_calls  # noqa: F401  its programs are among PROGRAMS
from tests.end_to_end.wrong_programs import PROGRAMS, X
from tests.structure.sources import ROOT

PACKAGE = os.path.dirname(axiomjit.__file__) + os.sep


def error_of(run):
    """The error that a program raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run()
        except Exception as error:
            return error
    pytest.fail(f"{run.__name__} raises no error")


def frames_of(error):
    """The frames of an error below those of the test."""
    every = traceback.extract_tb(error.__traceback__)
    return [frame for frame in every if frame.name not in ("error_of", "run", "<lambda>")]


def printed(error, run):
    """Return the printed traceback: lines count from the program's first, NumPy is one frame.

    The marks below a line, which versions of Python draw differently, are left out.
    """
    shown = traceback.TracebackException.from_exception(error)
    file, start = run.__code__.co_filename, run.__code__.co_firstlineno
    rest = [shown]
    while rest:
        one = rest.pop()
        if one is None:
            continue
        found = []
        for frame in one.stack:
            if frame.filename == file:
                line = frame.lineno - start
                found.append(
                    traceback.FrameSummary("program.py", line, frame.name, line=frame.line)
                )
            elif frame.filename != __file__ and "numpy" not in [f.filename for f in found[-1:]]:
                found.append(traceback.FrameSummary("numpy", 0, "...", line=""))
        one.stack = traceback.StackSummary.from_list(found)
        rest += [one.__cause__, one.__context__]
    text = re.sub(r"repeated \d+ more", "repeated N more", "".join(shown.format()))
    place = re.compile(re.escape(file) + r":(\d+)")
    return place.sub(lambda found: f"program.py:{int(found[1]) - start}", text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_printed(name, golden):
    program = PROGRAMS[name]
    error = error_of(program.run)
    assert isinstance(error, program.error)
    assert not [f for f in frames_of(error) if f.filename.startswith(PACKAGE)]
    golden(printed(error, program.run))


@axiomjit.jit
def sums(x, y):
    return x * 2 + y


@axiomjit.jit
def chosen(x, idx):
    return x[idx]


def test_full_traceback_shows_all_frames(monkeypatch):
    def run():
        sums(X, np.ones(5))

    hidden = [frame.name for frame in frames_of(error_of(run))]
    assert hidden == ["sums"]
    monkeypatch.setattr(axiomjit.config, "full_traceback", True)
    shown = traceback.extract_tb(error_of(run).__traceback__)
    assert sum(frame.filename.startswith(PACKAGE) for frame in shown) > 3


def test_variable_of_full_traceback():
    code = "import axiomjit; print(axiomjit.config.full_traceback)"
    for value, printed in (("1", "True"), ("0", "False")):
        kept = os.environ | {"AXIOMJIT_FULL_TRACEBACK": value, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], env=kept, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == printed


def test_later_calls_print_the_same():
    first, second = (error_of(lambda: sums(X, np.ones(5))) for _ in range(2))
    assert str(first) == str(second)
    assert [f.name for f in frames_of(first)] == [f.name for f in frames_of(second)]


def test_errors_of_native_calls_have_no_frames_of_ours():
    good, bad = np.array([0, 2]), np.array([0, 3])
    for _ in range(3):
        chosen(X, good)
    error = error_of(lambda: chosen(X, bad))
    assert isinstance(error, IndexError)
    assert not [f for f in frames_of(error) if f.filename.startswith(PACKAGE)]


def test_handled_error_of_the_user_stays_the_context():
    def run():
        try:
            {}["missing"]
        except KeyError:
            sums(X, np.ones(5))

    before = error_of(run)
    while before.__context__ is not None:
        before = before.__context__
    assert isinstance(before, KeyError)
    assert before.__traceback__ is not None


def test_errors_that_only_axiomjit_handled_are_no_context():
    error = error_of(PROGRAMS["read_only_argument_under_strict"].run)
    assert error.__context__ is None


def test_defects_keep_their_frames():
    def fails(*args):
        raise KeyError("an invariant")

    def checked(*args):
        raise AssertionError("an invariant")

    for broken in (in_passes(fails), in_passes(checked)):
        with pytest.raises((KeyError, AssertionError)) as caught:
            hides_frames(broken)()
        frames = traceback.extract_tb(caught.value.__traceback__)
        assert any(f.filename.startswith(PACKAGE) for f in frames)


def in_passes(function):
    """The function, as if a module of the passes defined it."""
    code = function.__code__.replace(co_filename=os.path.join(PACKAGE, "passes", "broken.py"))
    return type(function)(code, function.__globals__)


def test_operands_survive_a_pickle():
    error = error_of(lambda: sums(X, np.ones(5)))
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert copy.operands == error.operands
    assert len(copy.operands) == 2


def test_a_long_or_unknown_line_is_not_quoted(tmp_path):
    file = tmp_path / "long.py"
    file.write_text(f"x = 1\ny = {'1 + ' * 40}1\n")
    assert quoted_line(f"{file}:1") == f"{file}:1: x = 1"
    for where in (f"{file}:2", f"{file}:3", "<stdin>:1"):
        assert quoted_line(where) == where
