"""The command line: help, info, explain, exit codes, and every refusal on one line."""

import re
import subprocess
import sys

import pytest

from axiomjit.base.config import config
from axiomjit.base.target import target
from axiomjit.cli.main import main
from tests.structure.sources import ROOT

CODE = """\
import numpy as np


def scaled(x, y):
    return np.sqrt(x) + y


def branchy(x):
    if x[0].item() > 0:
        return x
    return -x


def told(x):
    return np.array2string(x)


def matrix(x):
    return x @ x[0]


def nothing():
    return 1


def any_number(*arrays):
    return arrays[0]


LIMIT = 3
"""


@pytest.fixture
def code(tmp_path):
    path = tmp_path / "work.py"
    path.write_text(CODE)
    return path


def run(*arguments):
    """A process of its own: `python -m axiomjit ...`."""
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("command", [["--help"], ["info"], ["explain", "--help"]])
def test_numba_is_not_imported(command):
    code = (
        "import sys; from axiomjit.cli.main import main; "
        f"rc = main({command!r}); print('numba' in sys.modules, rc)"
    )
    done = run("-c", code)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "False 0"


def test_explain_does_not_import_numba(code):
    done = run(
        "-c",
        "import sys; from axiomjit.cli.main import main; "
        f"main(['explain', {f'{code}:scaled'!r}, '--shape', '50,4', '--shape', '4']); "
        "print('numba' in sys.modules)",
    )
    assert done.stdout.startswith("scaled\n\n-- cost --\n")
    assert "%0 = input 0: f8[n0, 4]" in done.stdout
    assert done.stdout.splitlines()[-1] == "False"


def test_module_runs():
    done = run("-m", "axiomjit", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: axiomjit [-h] [--version] COMMAND ...")
    for command in ("demo", "info", "explain", "cache"):
        assert re.search(rf"^    {command} +\w", done.stdout, re.MULTILINE)


def test_closed_pipe_is_quiet():
    command = f"'{sys.executable}' -m axiomjit info | true"
    done = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr


def test_info(capsys):
    assert main(["info"]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    names = ["axiomjit", "python", "numpy", "numba", "llvmlite", "platform", "cpu", "threads"]
    assert list(lines) == [*names, "vectors", "target", "runs", "fallback", "checks", "cache"]
    assert lines["runs"] == "compiled"
    assert lines["target"].startswith(config.target)
    assert f", vectors of {target().vector_bytes} bytes, float16 by " in lines["target"]
    assert lines["cache"].startswith(f"{config.cache_dir}, ")
    assert re.search(r", \d+ kernels? of [\d,]+ bytes, of at most 256 MB$", lines["cache"])
    assert re.fullmatch(r"[\d.]+\S*, LLVM [\d.]+", lines["llvmlite"])
    assert re.fullmatch(r".+, \d+ cores, \d+ usable", lines["cpu"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["demo", "--rows", "0"], "--rows: '0' is not a whole number from 1 on"),
        (["demo", "--rows", "many"], "--rows: 'many' is not a whole number from 1 on"),
        (["explain"], "the following arguments are required: CODE.py:NAME"),
        (["explain", "a.py:f", "--shape", "3,x"], "--shape: '3,x' is no shape such as 1000,1000"),
        (["paint"], "invalid choice: 'paint'"),
    ],
)
def test_wrong_usage(capsys, arguments, message):
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err.splitlines()[-1]


FORM = "write for example work.py:norm"
KNOWN = "functions there: scaled, branchy, told, matrix, nothing, any_number"
REFUSED = {
    "missing file": (
        ["demo", "none.csv"],
        "read the columns of none.csv; seen: No such file or directory; "
        "instead: name a file that can be read",
    ),
    "no colon": (
        ["demo", "--function", "f"],
        f"the function f; seen: not of the form CODE.py:NAME; instead: {FORM}",
    ),
    "no code": (
        ["demo", "--function", "none.py:f"],
        "the function none.py:f; seen: no file none.py; instead: name a Python file",
    ),
    "no name": (
        ["demo", "--function", "{0}:f"],
        f"the function {{0}}:f; seen: no function f in {{0}}; instead: {KNOWN}",
    ),
    "a number": (
        ["demo", "--function", "{0}:LIMIT"],
        f"the function {{0}}:LIMIT; seen: no function LIMIT in {{0}}; instead: {KNOWN}",
    ),
    "no parameter": (
        ["demo", "--function", "{0}:nothing"],
        "a function of arrays, nothing(); seen: no parameter to fill; "
        "instead: name a function with positional parameters, such as def f(x, y)",
    ),
    "starred": (
        ["demo", "--function", "{0}:any_number"],
        "a function of arrays, any_number(*arrays); seen: parameters that cannot be counted; "
        "instead: name a function with positional parameters, such as def f(x, y)",
    ),
    "raises": (
        ["demo", "--rows", "9", "--function", "{0}:matrix"],
        "run matrix in NumPy on float64[9]; seen: ValueError: matmul: "
        "Input operand 1 does not have enough dimensions (has 0, gufunc core with signature "
        "(n?,k),(k,m?)->(n?,m?) requires 1); "
        "instead: name a function of one-dimensional arrays of equal length",
    ),
    "branches": (
        ["demo", "--rows", "9", "--function", "{0}:branchy"],
        "{0}:9: an array's values by array.item; "
        "seen: a traced float64[], made at {0}:9: its values are not known; "
        "instead: keep it an array, and call this outside the compiled function",
    ),
    "not compiled": (
        ["explain", "{0}:told", "--shape", "9"],
        "{0}:15: numpy.array2string(float64[9]); "
        "seen: numpy.array2string, which is not compiled yet; "
        "instead: call it outside the compiled function",
    ),
    "shapes": (
        ["explain", "{0}:scaled", "--shape", "9"],
        "explain {0}:scaled of 2 arrays (x, y); seen: 1 shape; "
        "instead: give --shape once per array, for example --shape 1000 --shape 1000",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_are_one_line(capsys, code, case):
    arguments, message = REFUSED[case]
    arguments = [word.format(code) for word in arguments]
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"axiomjit {arguments[0]}: {message.format(code)}\n"


@pytest.mark.parametrize(
    ("text", "line", "seen"),
    [
        ("x = 1\ny = 1 / 0\n", 2, "ZeroDivisionError: division by zero"),
        ("import sys\nsys.exit('no')\n", 2, "SystemExit: no"),
        ("def f(:\n", 1, "SyntaxError: invalid syntax (work.py, line 1)"),
        (
            "\nimport not_there_at_all\n",
            2,
            "ModuleNotFoundError: No module named 'not_there_at_all'",
        ),
    ],
)
def test_code_that_does_not_load(capsys, code, text, line, seen):
    code.write_text(text)
    assert main(["demo", "--function", f"{code}:f"]) == 2
    expected = f"{code}:{line}: the function {code}:f; seen: {seen}; instead: correct the file"
    assert capsys.readouterr().err == f"axiomjit demo: {expected}\n"


def test_code_may_import_its_neighbours(capsys, code):
    (code.parent / "neighbour_of_work.py").write_text("TWO = 2.0\n")
    code.write_text("from neighbour_of_work import TWO\n\n\ndef f(x):\n    return x * TWO\n")
    assert main(["explain", f"{code}:f", "--shape", "7"]) == 0
    assert capsys.readouterr().out.startswith("f\n")
    sys.modules.pop("neighbour_of_work")


def test_huge_shapes_are_refused(capsys, code):
    huge = ["--shape", "1000000000000,1000000", "--shape", "1"]
    assert main(["explain", f"{code}:scaled", *huge]) == 2
    err = capsys.readouterr().err
    assert err.startswith("axiomjit explain: out of memory (")
    assert main(["explain", f"{code}:scaled", "--shape", f"{2**62},8", "--shape", "1"]) == 2
    assert capsys.readouterr().err.startswith("axiomjit explain: arrays of shapes (")
