"""Without Numba, or with AXIOMJIT_DISABLE=1, everything runs in NumPy; the user is told once."""

import os
import subprocess
import sys

import pytest

HIDDEN = """
import sys
class Hider:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {names}:
            raise ImportError(f"{{name}} is hidden")
sys.meta_path.insert(0, Hider())
"""
USE = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import numpy as np, axiomjit as aj
    from axiomjit.cli.main import main
    x = np.arange(12.0).reshape(3, 4)
    for shape in ((3, 4), (5, 6)):
        one = np.ones(shape)
        assert np.array_equal(aj.jit(lambda v: np.exp(v * 0).sum(axis=1))(one), one.sum(axis=1))
        assert aj.jit(lambda a, b: {"r": [a @ b.T]})(one, one)["r"][0].shape == (shape[0],) * 2
    rows, columns = aj.make_axis(3, "rows"), aj.make_axis(4, "columns")
    t = aj.placeholder([rows, columns])
    computation = aj.transformers.make_transformer().computation(aj.sum(t * 2, columns), t)
    assert np.array_equal(computation(x), (x * 2).sum(axis=1))
    named = aj.jit(lambda n: aj.softmax(n))(aj.NamedArray(x[0], columns))
    assert named.axes == aj.make_axes([columns]) and abs(np.asarray(named).sum() - 1) < 1e-12
    assert main(["info"]) == 0
    assert main(["explain", "numpy:negative", "--shape", "4"]) in (0, 1, 2)
    lowered = aj.jit(lambda v: v * 2).lower(x)
    assert "for" in lowered.source and lowered.cost.temporary_bytes == 0
ours = [w for w in caught if issubclass(w.category, aj.errors.FallbackWarning)]
print([str(w.message) for w in caught if w not in ours], "numba" in sys.modules)
for w in ours:
    print("told:", w.message)
"""
NUMBA, BOTH = '{"numba"}', '{"numba", "llvmlite"}'


@pytest.mark.parametrize(
    ("prelude", "environment", "reason"),
    [
        pytest.param("import sys", {"AXIOMJIT_DISABLE": "1"}, "AXIOMJIT_DISABLE is set", id="off"),
        pytest.param(HIDDEN.format(names=NUMBA), {}, "numba is hidden", id="no numba"),
        pytest.param(HIDDEN.format(names=BOTH), {}, "numba is hidden", id="no llvmlite either"),
        pytest.param(
            HIDDEN.format(names=BOTH),
            {"AXIOMJIT_DISABLE": "1"},
            "AXIOMJIT_DISABLE is set",
            id="off, no numba",
        ),
    ],
)
def test_all_doors_run_in_numpy_with_one_notice(prelude, environment, reason):
    cleared = {name: text for name, text in os.environ.items() if name != "AXIOMJIT_DISABLE"}
    done = subprocess.run(
        [sys.executable, "-c", prelude + USE],
        capture_output=True,
        text=True,
        timeout=120,
        env={**cleared, **environment},
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-2] == "[] False"
    assert lines[-1].startswith("told: axiomjit: nothing is compiled here")
    assert f"({reason}" in lines[-1]
    assert sum(line.startswith("told:") for line in lines) == 1
    told = [line for line in lines if line.startswith("runs ")]
    assert len(told) == 1
    assert "evaluator" in told[0]
