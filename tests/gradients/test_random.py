"""Random programs: gradients against differences, and pullbacks against pushforwards."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.gradients import folds, reverse
from tests.generator.budget import budget
from tests.gradients.programs import directional, drawn, program


def is_smooth(function, x, v):
    """The difference, None near a kink: where smaller steps give another one."""
    coarse, fine = (directional(function, x, v, step) for step in (1e-3, 2.5e-4))
    return fine if abs(coarse - fine) <= 1e-8 * max(1.0, abs(fine)) else None


def compared(seed):
    """The error of a random program's gradient along a direction; None near a kink."""
    steps, x, generator = drawn(seed)
    weights, v = generator.normal(size=(2, 3, 4))
    function = program(steps, weights)
    wanted = is_smooth(function, x, v)
    if wanted is None or not np.isfinite(wanted):
        return None
    gradient = aj.grad(function)(x)
    size = max(1.0, np.linalg.norm(gradient) * np.linalg.norm(v))
    return abs((gradient * v).sum() - wanted) / size


@pytest.mark.parametrize("seed", range(budget(20)))
def test_gradients_are_slopes(seed, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    error = compared(seed)
    assert error is None or error < 1e-6


def test_most_programs_are_compared(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    errors = [compared(1000 + seed) for seed in range(10)]
    assert sum(error is not None for error in errors) >= 6


@pytest.mark.parametrize("seed", range(budget(2)))
def test_compiled_gradients_are_slopes(seed):
    error = compared(2000 + seed)
    assert error is None or error < 1e-6


@pytest.mark.parametrize("seed", range(budget(6)))
def test_pullbacks_are_adjoint_to_pushforwards(seed, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    steps, x, generator = drawn(3000 + seed, length=3)
    u, v = generator.normal(size=(2, 3, 4))

    def function(x):
        for step in steps:
            x = step(x)
        return x

    _, pullback = aj.vjp(function, x)
    _, tangent = aj.jvp(function, (x,), (v,))
    left, right = (u * tangent).sum(), (pullback(u)[0] * v).sum()
    assert left == pytest.approx(right, rel=1e-10, abs=1e-11)


def test_a_wrong_adjoint_is_found(monkeypatch):
    """Planted faults in folds and in conditions turn some program red."""
    monkeypatch.setattr(aj.config, "disable", True)

    def errors():
        found = [compared(seed) for seed in range(12)]
        return max(error for error in found if error is not None)

    assert errors() < 1e-6
    real = folds.FOLDS["sum"]

    def doubled(op, g, wanted):
        return {k: one.plus(one) for k, one in real(op, g, wanted).items()}

    with monkeypatch.context() as patch:
        patch.setattr(reverse, "FOLDS", {**folds.FOLDS, "sum": doubled})
        assert errors() > 1e-3
    with monkeypatch.context() as patch:
        patch.setattr(reverse, "of_update", lambda op, g, wanted: {0: g} if 0 in wanted else {})
        assert errors() > 1e-3
