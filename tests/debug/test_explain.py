"""Looking inside: the stages as text and as a page, and what is imported when."""

import os
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import axiomjit


def l2(x, y):
    t = x - y
    return np.dot(t.T, t)


STAGES: tuple[str, ...] = ("graph", "views", "loops", "source", "legend")


@pytest.mark.parametrize("stage", STAGES)
def test_stages_of_l2(stage, golden: Callable[..., None]):
    x, y = np.zeros((2, 5000))
    golden(getattr(axiomjit.jit(l2).lower(x, y), stage))


def test_explanation_of_l2(golden):
    x, y = np.zeros((2, 5000))
    golden(str(axiomjit.jit(l2).explain(x, y)))


def test_page_has_every_section_and_escapes_names():
    f = axiomjit.jit(lambda x: x + 1)
    page = f.explain(np.zeros(5)).html()
    assert page.startswith("<!doctype html>")
    assert "<title>test_page_has_every_section_and_escapes_names.&lt;locals&gt;" in page
    for title in ("cost", "graph", "views", "loops", "source", "legend"):
        assert f"<h2>{title}" in page
    assert "<locals>" not in page
    assert "http" not in page


def test_lowering_runs_and_compiles_nothing():
    before = axiomjit.stats()
    lowered = axiomjit.jit(lambda x: x * 29.5 - x / 31).lower(np.zeros(5))
    assert "def kernel" in lowered.source
    assert axiomjit.stats() == before
    assert "f8" in lowered.graph


def test_cost_of_stored_results_and_products():
    x = np.zeros((50, 60))
    cost = axiomjit.jit(lambda x: (x + 1) @ x.T).lower(x).cost
    assert (cost.kernels, cost.library_calls) == (1, 1)
    assert cost.temporary_bytes == x.nbytes
    assert cost.bytes_written == x.nbytes + 50 * 50 * 8


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_numba_is_imported_by_the_first_compilation_only(memory_only):
    script = """
import sys, numpy as np, axiomjit
f = axiomjit.jit(lambda x: ((x - 1) ** 2).sum())
x = np.arange(5.0)
str(f.explain(x)), f.lower(x).source
axiomjit.config.disable = True
assert f(x) == 15
print("numba" in sys.modules, "llvmlite" in sys.modules)
axiomjit.config.disable = False
assert f(x) == 15
print("numba" in sys.modules)
"""
    assert run(script).split() == ["False", "False", "True"]


def test_import_loads_nothing_more_of_numpy():
    """Not numpy.f2py, numpy.testing, ..., which numpy loads when it is asked for them."""
    script = """
import sys, numpy
before = set(sys.modules)
import axiomjit
print(*{name for name in set(sys.modules) - before if name.startswith("numpy")})
"""
    assert {name for name in run(script).split() if "typing" not in name} == set()


WITHOUT = """
import sys, warnings, numpy as np, axiomjit
{block}
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    f = axiomjit.jit(lambda x: ((x - 1) ** 2).sum())
    assert f(np.arange(5.0)) == 15 and f(np.arange(6.0)) == 31
    assert axiomjit.jit(lambda x: x + 1)(np.arange(5.0))[4] == 5
print([w.category.__name__ for w in caught])
"""
BROKEN = """
import pathlib, tempfile
package = pathlib.Path(tempfile.mkdtemp(), "numba")
package.mkdir()
(package / "__init__.py").write_text("raise ImportError('Numba needs NumPy 2.3 or less')")
sys.path.insert(0, str(package.parent))
"""


@pytest.mark.parametrize(
    "block",
    [
        pytest.param("sys.modules['numba'] = None", id="absent"),
        pytest.param(BROKEN, id="broken"),
        pytest.param("import os; os.environ['NUMBA_DISABLE_JIT'] = '1'", id="disabled"),
    ],
)
def test_without_numba_everything_runs_in_numpy(block):
    assert run(WITHOUT.format(block=block)).strip() == "['FallbackWarning']"


def test_a_compiled_function_shows_its_name_and_its_programs():
    @axiomjit.jit
    def double(x):
        return x * 2

    assert repr(double) == "<jit double, 0 programs>"
    double(np.ones(5))
    double(np.ones(6))  # the same class of arguments
    assert repr(double) == "<jit double, 1 program>"
    double(np.ones((5, 7)))
    double(axiomjit.NamedArray(np.ones(5), axiomjit.make_axis(5)))
    assert repr(double) == "<jit double, 3 programs>"
