"""Operations that NumPy runs at once are counted by name and reason, and may be refused."""

import warnings

import numpy
import pytest

import axiomjit
import axiomjit.numpy as np
from axiomjit.base.config import config
from axiomjit.base.errors import AxiomError, FallbackWarning, UnsupportedError
from axiomjit.numpy import programs

N = 5000


def counted(function):
    """The counts of operations that ran at once in a call."""
    before = np.ran_at_once()
    function()
    return dict(np.ran_at_once() - before)


CALLS = {
    "linalg.norm": (lambda x: np.linalg.norm(x), "records the function"),
    "sort": (lambda x: np.sort(x), "records the function"),
    ".sort": (lambda x: x.sort(), "records the function"),
    "[]": (lambda x: x[[1, 2]], "records such arguments"),
    "[]=": (lambda x: x.__setitem__([1, 2], 3), "records such arguments"),
    "add": (lambda x: np.add(x, 1, out=numpy.ones(N)), "memory"),
    "power": (lambda x: np.power(x.astype(int), np.arange(N)), "values"),
    "add.at": (lambda x: np.add.at(x, [1], 2), "records the function"),
    "random.Generator.normal": (lambda x: np.random.default_rng().normal(x), "random"),
}


@pytest.mark.parametrize("name", CALLS)
def test_names_and_reasons(name):
    function, reason = CALLS[name]
    x = np.ones(N) + 1
    (key, count), *more = counted(lambda: function(x)).items()
    assert more == []
    assert (key[0], count) == (name, 1)
    assert reason in key[1]


def test_error_states_are_a_reason():
    x = np.ones(N)
    with numpy.errstate(all="raise"):
        assert counted(lambda: x + 1) == {("add", "np.errstate or np.seterr traps errors"): 1}


def test_looks_are_not_counted():
    x = np.ones(N) + 1
    looks = (str, np.array_repr, lambda x: x.tolist(), lambda x: x[3], numpy.asarray, len)
    for look in (*looks, lambda x: float(x.sum()), lambda x: np.asarray(x), lambda x: x.item(3)):
        assert counted(lambda look=look: look(x)) == {}


def test_counters():
    for k in range(3):
        before = axiomjit.stats()
        given = numpy.ones(N)
        x = np.asarray(given) * 2 + 1
        np.sort(x)
        after = axiomjit.stats()
        changed = {name: after[name] - before[name] for name in ("at_once", "shared_copies")}
        assert changed == {"at_once": 1, "shared_copies": 1}
        assert after["segments"] - before["segments"] == (
            k > 1 or after["segments"] - before["segments"]
        )
    assert after["segments"] > before["segments"]


def test_policies(monkeypatch):
    x = np.ones(N) + 1
    for policy in ("allow", "step", "warn"):
        monkeypatch.setattr(config, "fallback", policy)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert np.sort(x)[0] == 2
    monkeypatch.setattr(config, "fallback", "error")
    with pytest.raises(UnsupportedError, match=r"sort of lazy arrays\n  seen: no segment records"):
        np.sort(x)
    assert (x + 1)[0] == 3
    assert str(x[:2]) == "[2. 2.]"


def test_segments_that_jit_refuses(monkeypatch):
    class Refusing:
        def __call__(self, *arguments):
            raise AxiomError("compile it", "a planted refusal", "nothing")

    def run():
        text = "def segment(v0):\n    return (v0 + v0,)\n"
        program = programs.Program(text, text, numpy)
        program._jitted, program.is_compiled = Refusing(), True
        return program.run([numpy.ones(3)])[0]

    with pytest.warns(FallbackWarning, match="a segment of axiomjit.numpy runs in NumPy"):
        assert run()[0] == 2
    monkeypatch.setattr(config, "fallback", "allow")
    key = "a segment of axiomjit.numpy", "compile it: a planted refusal"
    assert counted(run) == {key: 1}
    monkeypatch.setattr(config, "fallback", "error")
    with pytest.raises(AxiomError, match="planted"):
        run()


def test_errors_of_operations_with_bits_of_our_own_are_numpys():
    x = np.ones((60, 80)) * 2
    with pytest.raises(ValueError, match="For arrays which have more than one dimension"):
        np.cumulative_sum(x)
    with pytest.raises(numpy.exceptions.AxisError):
        x.sum(axis=7)
    assert x.sum() == 9600
