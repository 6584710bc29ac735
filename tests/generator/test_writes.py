"""Random functions that write into arrays mean what they mean in NumPy."""

import pytest

from axiomjit.base.counters import stats
from axiomjit.dispatch import fallbacks
from axiomjit.graph.storages import VersionedStorage
from axiomjit.tracing.operators import TracedStorage
from tests.generator.budget import budget
from tests.generator.sequences import way
from tests.generator.writes import (
    Written,
    campaign,
    draw,
    draw_aliasing,
    draw_index_write,
    failure,
)

PROGRAMS = budget(150)


pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored in. 'array_dealloc'")
"""NumPy's own, where `ufunc.at` finds positions out of range."""
DRAWN = {"writes": draw, "aliasing": draw_aliasing, "index writes": draw_index_write}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize(
    ("name", "share"),
    [("evaluated", 1.0), ("interpreted", 0.2), ("small", 0.2), ("compiled", 0.02)],
)
def test_writes_mean_what_numpy_does(name, share, kind):
    before, count = stats()["fallbacks"], int(PROGRAMS * share)
    failures = campaign(1, 0, count, name, DRAWN[kind])
    assert not failures, "\n\n".join(failures[:3])
    if kind == "writes":  # arrays that overlap others run in NumPy
        assert stats()["fallbacks"] - before < count / 2


@pytest.mark.parametrize("kind", DRAWN)
def test_programs_depend_on_seed_and_index_alone(kind):
    assert DRAWN[kind](0, 3) == DRAWN[kind](0, 3) != DRAWN[kind](1, 3)


def test_every_kind_of_statement_is_drawn():
    text = "".join(str(draw(2, k)) for k in range(400))
    for part in (".sum(", "np.zeros(", "np.empty(", "[a > ", "rng.", ".at(", "out=", " += ", ".T"):
        assert part in text, part
    assert ", a)" in text
    assert ", a.T)" in text


PLANTED = {
    "a view keeps the version it was made of": (
        TracedStorage,
        "current",
        lambda storage, node: node,
    ),
    "writes are lost": (VersionedStorage, "write", lambda storage, following: None),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_defects_are_found(name, monkeypatch):
    monkeypatch.setattr(*PLANTED[name])
    assert campaign(1, 0, 40, "evaluated")


def test_a_value_that_is_read_while_it_is_written_is_found(monkeypatch):
    shift = Written(("a[1:] += a[:-1]",), ("a",), ("np.arange(9.0)", "np.arange(3.0)"))
    with way("interpreted"):
        assert failure(shift) is None
        monkeypatch.setattr("axiomjit.passes.graph.save_versions.reads_of", lambda op, stored: {})
        assert failure(shift)


def test_what_is_not_put_back_before_numpy_runs_is_found(monkeypatch):
    statements = ("a += 1", "v = a[a > 8].squeeze()")
    few = Written(statements, ("v",), ("np.arange(9.0)", "np.arange(3.0)"))
    with way("interpreted"):
        assert failure(few) is None
        monkeypatch.setattr(fallbacks, "snapshot", lambda compiled, arguments: lambda: None)
        assert failure(few)


FOUND = {
    "a row that is read at positions": Written(
        (
            "b[:-2, 1] = -4",
            "v2 = b[b > 7] + b[b > 7]",
            "v3 = b[...] * 2",
            "v5 = v2[np.argsort(v3.reshape(-1)[:22])[:6]] * 2",
        ),
        ("v5", "a[:-2, ::-1]"),
        (
            "np.arange(30, dtype='i4').reshape((6, 5))",
            "np.arange(30, dtype='i4').reshape((6, 5)) + 3",
        ),
    ),
    "an error after a draw": Written(
        ("v0 = rng.integers(0, 9, size=a.shape)", "v1 = v0.no_such"),
        ("v1",),
        ("np.arange(7.0)", "np.arange(7.0) + 3"),
    ),
    "an array written into one element": Written(
        ("b[1] = 3", "a[np.array(0)] = a[1:]"), ("a",), ("np.arange(2.0)", "np.arange(3.0)")
    ),
    "what is as long as a mask before it is counted": Written(
        ("a[::1, np.array([True, False])] = a[1:]",),
        ("a",),
        ("np.arange(4.0).reshape(2, 2)", "np.arange(7.0)"),
    ),
    "no elements of more dimensions": Written(
        ("b[np.zeros(0, int)] = a[:, :0]",),
        ("a",),
        ("np.arange(4.0).reshape(2, 2)", "np.arange(7.0)"),
    ),
    "an error after a draw and a mask": Written(
        ("v1 = rng.normal(size=a.shape)", "v1[v1 > 0] = v1[v1 > 0] * 2", "a += v1"),
        ("v1",),
        ("np.arange(7)", "np.arange(7.0)"),
    ),
    "columns at positions of a view": Written(
        (
            "v0 = np.empty(a.shape, a.dtype); v0[...] = b.T + 3",
            "v1 = b[::-1, [-1]]",
            "v3 = v1[:, [-1, 0, 0]]",
        ),
        ("v0.T", "v3"),
        ("np.arange(7, dtype='f8').reshape((1, 7))", "a.T"),
    ),
}
"""Programs that were wrong once."""


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
@pytest.mark.parametrize("name", ["evaluated", "small", "compiled"])
def test_found_programs(name, program):
    with way(name):
        assert failure(program) is None
