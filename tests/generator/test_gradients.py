"""Random functions have the gradients of differences; faults in adjoints are found."""

import pytest

from axiomjit.gradients import folds, libraries, regions, reverse, structures
from axiomjit.gradients.folds import FOLDS, SCANS
from axiomjit.gradients.rules import PARTS, STRUCTURAL
from axiomjit.gradients.structures import SCATTERS
from axiomjit.gradients.transposes import multiplied
from axiomjit.graph.nodes import Scalar
from tests.generator import gradients, jax_twins
from tests.generator.budget import budget
from tests.generator.gradient_programs import TEXT, drawn, every_expression


def test_random_functions_have_the_gradients_of_differences():
    gradients.SHARES.clear()
    assert gradients.campaign(3, 0, budget(10), "evaluated") == []
    assert gradients.SHARES["second derivatives"] > 0


def test_compiled_gradients_of_random_functions():
    assert gradients.campaign(4, 0, budget(1), "compiled") == []


@pytest.mark.skipif(jax_twins.jax is None, reason="JAX is not installed")
def test_jax_has_the_same_gradients():
    cases = [case for case in (drawn(5, k) for k in range(budget(3))) if case.in_jax]
    with gradients.in_way("evaluated"):
        gradients.SHARES.clear()
        assert [gradients.run(case, 0) for case in cases] == [None] * len(cases)
    assert gradients.SHARES["compared with JAX"] > 0


FOUND = {
    "an argument that is written": "m *= 0.5\n    v = np.sin(m[0]) * u",
    "operands that are one array": "v = np.interp(v, np.arange(n) * 0.5 - 1, v)",
    "eigenvectors": "a = np.linalg.eigh(DIAGONAL + 0.1 * a)[1] ** 2",
    "left vectors": "a = np.linalg.svd(DIAGONAL + 0.1 * m, full_matrices=False)[0] ** 2",
    "a library in a loop": "u = aj.fori_loop(0, 3, lambda i, c: np.linalg.solve(EYE + m, c), u)",
    "a result in parts": "a = aj.fori_loop(0, 3, lambda i, c: np.linalg.qr(EYE + c)[1], a)",
    "a condition beside a step of a library": """for i in range(5):
        b = 0.3 * b + 0.1 * np.median(b)
        if x[2] > 0:
            s = np.tanh(s * b[i, i - 1])""",
}
"""Statements whose gradients were wrong, refused or followed for each call."""


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    gradients.SHARES.clear()
    with gradients.in_way("evaluated"):
        assert gradients.failure(TEXT.format(body="    " + FOUND[name]), 5) is None
    assert gradients.SHARES["compiled once"] == 1


def scaled(rule):
    """Fault: the cotangents of an operation are too large."""

    def wrong(*given):
        made = rule(*given)
        return {k: one.replace(value=_larger(one.value)) for k, one in made.items()}

    return wrong


def _larger(node):
    return multiplied(node, Scalar(node.dtype, node.dtype.type(1.5), False))


def in_table(owner, name, key):
    """The arguments of `setattr` that scale the result of a row of a table."""
    table = getattr(owner, name)
    return owner, name, {**table, key: scaled(table[key])}


def in_function(owner, name):
    """The arguments of `setattr` that scale the result of a function."""
    return owner, name, scaled(getattr(owner, name))


NO_PATH = {"any", "all"}
FAULTS = {
    "update": (in_function(reverse, "of_update"), "u[1:] = "),
    "join": (in_function(reverse, "of_join"), "np.concatenate"),
    "gather": (in_function(reverse, "of_gather"), "= y[k]"),
    "product": (in_table(reverse, "FOLDS", "sum"), " @ "),
    "state": (in_function(reverse, "of_state"), "aj.fold(AFFINE"),
    "where": (in_function(reverse, "_of_where"), "np.where"),
    "complex_of": (in_function(reverse, "_of_parts"), "2j * "),
    **{part: (in_function(reverse, "_of_parts"), ".real") for part in PARTS},
    **{
        f"fold {key}": (in_table(reverse, "FOLDS", key), text)
        for key, text in (
            *(
                ("sum", ".sum(0)"),
                ("prod", "np.prod("),
                ("max", ".max(axis=1)"),
                ("min", "np.min("),
            ),
        )
    },
    **{
        f"scan {key}": (in_table(reverse, "SCANS", key), text)
        for key, text in (
            *(("sum", "np.cumsum("), ("prod", "np.cumprod("), ("max", "np.maximum.accumulate(")),
            ("min", "np.minimum.accumulate("),
        )
    },
    **{
        f"scatter {key}": (in_table(structures, "SCATTERS", key), text)
        for key, text in (
            *(("add", "np.add.at"), ("subtract", "np.subtract.at"), ("maximum", "np.maximum.at")),
            ("minimum", "np.minimum.at"),
        )
    },
    "loop": (in_function(regions._OfLoop, "contributions"), "aj.scan"),
    "branch": (in_function(regions._OfBranch, "contributions"), "aj.cond"),
    "sort": (in_function(libraries, "of_sort"), "np.sort("),
    "partials of a fold": ((folds, "_at_first", lambda made, first, d: made), "np.cumprod("),
}
"""For each rule of a kind of operations the fault, and a text of programs that show it."""


def test_each_kind_of_operations_has_a_fault():
    rows = {f"fold {key}" for key in FOLDS} | {f"scan {key}" for key in SCANS}
    rows |= {f"scatter {key}" for key in SCATTERS} | {*STRUCTURAL, *PARTS}
    without = {f"{kind} {key}" for kind in ("fold", "scan") for key in NO_PATH}
    assert rows - without <= FAULTS.keys()


EXPRESSIONS = list(every_expression())


@pytest.mark.parametrize("fault", FAULTS)
def test_wrong_adjoints_are_found(fault, monkeypatch):
    place, text = FAULTS[fault]
    case = next(case for case in EXPRESSIONS if text in case.text)
    with gradients.in_way("evaluated"):
        assert gradients.failure(case.text, case.seed, 1) is None
        monkeypatch.setattr(*place)
        assert gradients.failure(case.text, case.seed, 1)
