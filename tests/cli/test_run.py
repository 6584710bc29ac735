"""`axiomjit run`: whose `numpy` is rebound, and that a program runs as under `python`."""

import errno
import importlib.util
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import axiomjit.numpy
from axiomjit.base.errors import GraphValueError
from axiomjit.cli.main import main
from axiomjit.cli.run import _report, rebound_code
from tests.structure.sources import ROOT

PROGRAM = """\
# coding: latin-1
from __future__ import annotations

import importlib
import json
import os
import sys

import numpy
import numpy as np
import numpy.fft, numpy.linalg as la, numpy.lib.stride_tricks
from numpy import float32
from numpy.testing import assert_equal
import beside
import pack.inner
import a_library
import scipy.linalg


def inside():
    import numpy as late
    return late, importlib.import_module("numpy"), __import__("numpy")


if __name__ == "__main__":
    for one in (numpy, *inside(), beside.np, beside.function(), pack.inner.np):
        assert one is np, one
    real = sys.modules["numpy"]
    assert np is sys.modules["axiomjit.numpy"]
    assert (a_library.np, a_library.function()) == (real, real)
    assert np.linalg is la and np.fft is numpy.fft
    assert numpy.lib.stride_tricks is real.lib.stride_tricks  # not loaded once more
    assert float32 is real.float32 and assert_equal is real.testing.assert_equal
    assert np.__version__ == real.__version__ and isinstance(np.ones(3), np.ndarray)
    x = np.linspace(0.0, 1.0, 10_000)
    assert np.isclose((np.sqrt(x) * 2.0).sum(), 2.0 * real.sqrt(real.asarray(x)).sum())
    for name in ("numpy.no_such_part", "axiomjit.numpy.no_such_part"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            assert "no_such_part" in str(error)
    main = sys.modules["__main__"]
    assert main.inside is inside and main.__spec__ is __spec__
    print(json.dumps([sys.argv, sys.path[0], __file__, __package__, "\xe9", os.getcwd()]))
"""
BESIDE = "import numpy as np\n\n\ndef function():\n    import numpy\n    return numpy\n"
SPAWNING = """\
import multiprocessing

import numpy as np
import beside


def names(_):
    return [__name__, np.__name__, beside.np.__name__]


if __name__ == "__main__":
    for kind in ("spawn", "forkserver"):
        with multiprocessing.get_context(kind).Pool(1) as pool:
            print(*pool.map(names, [0])[0])
"""


@pytest.fixture
def folder(tmp_path):
    """A program, its modules, and a library that is installed below its folder."""
    library = tmp_path / "env" / "site-packages"
    (tmp_path / "pack").mkdir()
    library.mkdir(parents=True)
    for path in ("program.py", "pack/__main__.py"):
        (tmp_path / path).write_text(PROGRAM.replace("\\xe9", "\xe9"), "latin-1")
    for path in ("beside.py", "pack/__init__.py", "pack/inner.py"):
        (tmp_path / path).write_text(BESIDE)
    (library / "a_library.py").write_text(BESIDE)
    return tmp_path


def python(folder, *words, **options):
    """A process in the folder: `python ...`."""
    paths = os.pathsep.join(map(str, [ROOT, folder / "env" / "site-packages", folder]))
    return subprocess.run(
        [sys.executable, *words],
        **{"cwd": folder, "capture_output": True, "text": True, "timeout": 60, **options},
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": ""},
    )


def run(folder, *words, **options):
    """A process in the folder: `axiomjit run ...`."""
    return python(folder, "-m", "axiomjit", "run", *words, **options)


def test_a_file_and_modules_beside_it(folder):
    words = ["-m", "--stats", "--", "a word"]
    done = run(folder, "./program.py", *words)
    assert (done.returncode, done.stderr) == (0, "")
    file = str(folder / "program.py")
    expected = [["./program.py", *words], str(folder), file, None, "\xe9", str(folder)]
    assert json.loads(done.stdout) == expected
    assert list(folder.rglob("*.pyc")) == [
        Path(importlib.util.cache_from_source(folder / "env" / "site-packages" / "a_library.py"))
    ]  # rebound code is not kept


def test_a_package_that_is_elsewhere(folder):
    here = folder / "here"
    here.mkdir()
    (folder / "beside.py").rename(here / "beside.py")
    done = run(folder, "--stats", "--explain", "-m", "pack", "-m", "x", cwd=here)
    assert done.returncode == 0
    counts = [line.split() for line in done.stderr.splitlines()]
    assert {"compiles", "kernels_run", "fallbacks"} <= {count[0] for count in counts}
    file = str(folder / "pack" / "__main__.py")
    expected = [[file, "-m", "x"], str(here), file, "pack", "\xe9", str(here)]
    assert json.loads(done.stdout) == expected


FAILING = """\
import sys

import numpy as np

print("printed", np.__name__ in ("numpy", "axiomjit.numpy"))
try:
    import wrong
except SyntaxError as error:
    raise {raised} from error
"""
RAISED = ("KeyError(1)", "KeyboardInterrupt", "SystemExit(7)", "SystemExit('said')")


@pytest.mark.parametrize("raised", RAISED)
def test_ends_as_under_python(folder, raised):
    (folder / "wrong.py").write_text("import numpy\ndef f(:\n")
    (folder / "failing.py").write_text(FAILING.format(raised=raised))
    here, there = run(folder, "failing.py"), python(folder, "failing.py")
    assert here.stdout == "printed True\n"
    assert (here.stdout, here.stderr) == (there.stdout, there.stderr)
    assert here.returncode == there.returncode


def test_source_that_does_not_compile(folder):
    (folder / "wrong.py").write_text("import numpy\nreturn 3\n")
    here, there = run(folder, "wrong.py"), python(folder, "wrong.py")
    assert (here.returncode, here.stderr) == (there.returncode, there.stderr)


def test_a_program_from_the_input(folder):
    text = "import sys, beside, numpy as np\nprint(np.__name__, beside.np is np, sys.argv)\n"
    done = run(folder, "-", "-x", input=text + "1 / 0\n")
    assert done.stdout == "axiomjit.numpy True ['-', '-x']\n"
    assert done.stderr.splitlines()[1:] == [
        '  File "<stdin>", line 3, in <module>',
        "ZeroDivisionError: division by zero",
    ]


def test_spawned_processes(folder):
    (folder / "spawning.py").write_text(SPAWNING)
    done = run(folder, "spawning.py", timeout=120)
    assert done.stderr == ""
    assert done.stdout == "__mp_main__ axiomjit.numpy axiomjit.numpy\n" * 2


@pytest.fixture
def process(monkeypatch, tmp_path):
    """Put back the state of the process that `run` changes."""
    for name in ("argv", "path", "meta_path"):
        monkeypatch.setattr(sys, name, list(getattr(sys, name)))
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_folders_of_the_project(process, capsys):
    other = process.parent / f"{process.name}_other"
    for folder in (other, process / "folder"):
        folder.mkdir()
    (other / "part_of_a_project.py").write_text(BESIDE)
    (process / "folder" / "__main__.py").write_text(
        "import sys\nsys.path.append(sys.argv[1])\nimport part_of_a_project\n"
        "print(part_of_a_project.np.__name__)\n"
    )
    for words, name in ([], "numpy"), (["--project", str(other)], "axiomjit.numpy"):
        assert main(["run", *words, "folder", str(other)]) == 0
        assert capsys.readouterr().out == f"{name}\n"
        sys.modules.pop("part_of_a_project")


JITTED = """\
import axiomjit
import numpy


@axiomjit.jit
def own(x):
    import numpy as np

    return np.sqrt(x) + x.sum()


def maker():
    @axiomjit.jit
    def inner(x): import numpy; return numpy.exp(x)
    return inner


for function in own, maker():
    function(numpy.arange(100.0))
    assert function.cache_info().in_numpy == (), function.cache_info()
"""


def test_compiled_functions_have_their_text(process):
    """Text that says `numpy` belongs to code that imports the drop-in."""
    (process / "jitted.py").write_text(JITTED)
    assert main(["run", "jitted.py"]) == 0


def refuse():
    raise GraphValueError("explain_last()", "none", "run some")


def test_what_is_reported(monkeypatch, capsys):
    counts = Counter({("sort", "a reason"): 2, ("dot", "another"): 3})
    monkeypatch.setattr(axiomjit.numpy, "ran_at_once", lambda: counts, raising=False)
    monkeypatch.setattr(axiomjit, "explain_last", lambda: "a segment", raising=False)
    _report(stats=True, explain=True)
    out, err = capsys.readouterr()
    assert out == ""
    first, *_, dot, sort = err.splitlines()
    assert first == "a segment"
    assert dot.split(maxsplit=1) == ["dot", "3 at once: another"]
    assert sort.split(maxsplit=1) == ["sort", "2 at once: a reason"]
    monkeypatch.setattr(axiomjit, "explain_last", refuse)
    _report(stats=False, explain=True)
    text = "axiomjit run: explain_last(); seen: none; instead: run some\n"
    assert capsys.readouterr().err == text


FILE = "instead: name a Python file, or -m and a module"
MODULE = "instead: name a module that is found from this folder, or a Python file"
REFUSED = {
    "no program": ([], f"run a program; seen: none; {FILE}"),
    "no file": (["none.py", "-x"], f"run the program none.py; seen: {{no_file}}; {FILE}"),
    "no code": (["code.pyc"], f"run the program code.pyc; seen: compiled code; {FILE}"),
    "no module": (["-m", "none", "-x"], f"run the module none; seen: no module none; {MODULE}"),
    "no package": (
        ["-m", "none.x"],
        f"run the module none.x; seen: no module none; {MODULE}",
    ),
    "no main": (
        ["-m", "json"],
        f"run the module json; seen: no module json.__main__; {MODULE}",
    ),
    "no name": (
        ["-m", ".a"],
        f"run the module .a; seen: no name of a module; {MODULE}",
    ),
    "no source": (
        ["-m", "time"],
        f"run the module time; seen: a module without Python code; {MODULE}",
    ),
    "no folder": (
        ["--project", "none", "a.py"],
        "rebind numpy in the project {none}; seen: no folder; instead: name a folder",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_one_line(process, capsys, case):
    words, message = REFUSED[case]
    (process / "code.pyc").write_bytes(importlib.util.MAGIC_NUMBER + b"more")
    assert main(["run", *words]) == 2
    message = message.format(none=process / "none", no_file=os.strerror(errno.ENOENT))
    assert capsys.readouterr().err == f"axiomjit run: {message}\n"


def test_help_is_not_the_programs(capsys):
    assert main(["run", "--help", "program.py"]) == 0
    assert capsys.readouterr().out.startswith("usage: axiomjit run [--stats]")
    assert main(["run", "--paint", "program.py"]) == 2


def positions(code):
    """The places of a code object and of those in it."""
    inner = [part for part in code.co_consts if hasattr(part, "co_code")]
    return [set(code.co_positions()), *map(positions, inner)]


def test_lines_stay(process):
    text = PROGRAM.replace("\\xe9", "\xe9").encode("latin-1")
    assert positions(rebound_code(text, "a.py")) == positions(compile(text, "a.py", "exec"))
