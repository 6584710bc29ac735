"""What is printed while a program is lowered is what `lower` gives as data."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.passes.pipeline import PASSES
from tests.structure.sources import ROOT

NAMES = [step.__name__ for step in PASSES]


def norm(x, y):
    t = x - y
    return np.sqrt((t * t).sum())


ARGUMENTS = np.zeros((2, 50))


def printed(capsys, monkeypatch, *asked):
    """The pages, by title, that are printed for what is asked for."""
    monkeypatch.setattr(config, "show", asked)
    axiomjit.jit(norm).lower(*ARGUMENTS)
    captured = capsys.readouterr()
    assert captured.out == ""
    parts = re.split(r"^-- (.+) --\n", captured.err, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("page", ["graph", "views", "loops", "plan", "source"])
def test_pages_are_those_of_lower(capsys, monkeypatch, page):
    found = printed(capsys, monkeypatch, page)
    assert list(found) == [page]
    data = getattr(axiomjit.jit(norm).lower(*ARGUMENTS), page)
    assert found[page].rstrip() == data.rstrip()


@pytest.mark.parametrize("name", NAMES)
def test_passes_are_printed_before_and_after(capsys, monkeypatch, name):
    found = printed(capsys, monkeypatch, name)
    assert list(found) == [f"before {name}", f"after {name}"]
    monkeypatch.setattr(config, "show", ())
    low = axiomjit.jit(norm).lower(*ARGUMENTS)
    assert found[f"before {name}"].rstrip() == low.before(name).rstrip()
    assert found[f"after {name}"].rstrip() == low.after(name).rstrip()


def test_each_pass_takes_up_where_the_one_before_ended():
    low = axiomjit.jit(norm).lower(*ARGUMENTS)
    for earlier, later in zip(NAMES, NAMES[1:], strict=False):
        assert low.after(earlier) == low.before(later)
    assert low.after(NAMES[-1]) == low.plan


@pytest.mark.alone
def test_times_of_passes_add_up_to_the_whole(capsys, monkeypatch):
    monkeypatch.setattr(config, "check", False)
    shares = []
    for _ in range(9):  # another process may take the core at any time
        page = printed(capsys, monkeypatch, "times")["times"]
        rows = re.findall(r"^ *([\d.]+) ms  (.+)$", page, re.MULTILINE)
        assert [name for _, name in rows[:-1]] == NAMES
        assert rows[-1][1].startswith("all passes")
        shares.append(sum(float(took) for took, _ in rows[:-1]) / float(rows[-1][0]))
    assert 0.9 <= max(shares) <= 1.001  # rounded to microseconds
    assert list(axiomjit.jit(norm).lower(*ARGUMENTS).times) == NAMES


def test_nothing_is_printed_unless_asked(capsys, monkeypatch):
    assert printed(capsys, monkeypatch) == {}


def test_unknown_names_are_refused(monkeypatch):
    monkeypatch.setattr(config, "show", ("loop",))
    with pytest.raises(GraphValueError, match=r"(?s)show loop .*neither a form nor a pass"):
        axiomjit.jit(norm).lower(*ARGUMENTS)
    monkeypatch.setattr(config, "show", ())
    low = axiomjit.jit(norm).lower(*ARGUMENTS)
    with pytest.raises(GraphValueError, match="(?s)the pass .fuse..*fuse_loops"):
        low.after("fuse")


def test_environment_names_what_is_shown():
    code = "import numpy, axiomjit; print(axiomjit.jit(lambda x: x + 1).lower(numpy.ones(9)).loops)"
    environment = os.environ | {"AXIOMJIT_SHOW": "loops, ", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr.split("-- loops --\n")[1].rstrip() == done.stdout.rstrip()
