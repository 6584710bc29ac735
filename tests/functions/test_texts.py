# ruff: noqa: UP031, UP032, G004 - all ways to make a text
"""Texts of computed values: printed, logged, stored and returned as in Python, in each call."""

import contextlib
import dataclasses
import io
import logging
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError

pytestmark = pytest.mark.usefixtures("in_numpy")
NOTES, WEIGHTS = [], {"w0": 2.0, "w1": 3.0}
LOGGER = logging.getLogger("axiomjit.tests.texts")


class Records(logging.Handler):
    def __init__(self):
        super().__init__()
        self.found = []

    def emit(self, record):
        self.found.append((record.getMessage(), record.levelname, record.funcName))


@dataclasses.dataclass
class Pair:
    total: float
    other: object


class Shown:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"<{self.value}>"

    def __format__(self, spec):
        return f"[{self.value:{spec}}]"


def formatted(x):
    total, width = x.sum(), 9
    print(f"{total:.3f} {total!r} {total!s} {total!a} {total:>{width}.{2}f} {x.shape[0]}")
    print(f"{total}")
    return x + 1


def by_percent(x):
    print("a %s b %.2f" % (x.sum(), x.max()), "%d" % x.sum(), "%(k)s" % {"k": x.max()})
    return x


def by_method(x):
    print(f"{x.sum():.2f} {x.max()} {x[:2]}", format(x.sum(), ".1f"))
    return x


def put_together(x):
    total = x.sum()
    print(str(total) + " end", "start " + repr(total), ", ".join([str(total), "b", f"{total:.1f}"]))
    text = "sum: "
    text += str(total)
    print(text, end="!\n", sep="")
    return x


def of_containers(x):
    print(f"{[x.sum(), 1, 'a']} {x} {(x.max(),)}", str({"k": x.sum()}), Pair(x.sum(), 2))
    return x


def of_objects(x):
    print(Shown(x.sum()), f"{Shown(x.sum()):.2f}")
    return x


def at_its_moment(x):
    y = x * 2
    text = f"{y}"
    y[0] = 100.0
    print(text, y)
    return y


def stored(x):
    NOTES.append(f"{x.sum():.1f}")
    NOTES.append([f"{x.max()}", x.min()])
    return x


def logged(x):
    LOGGER.info("value %s %d", x.sum(), 3)
    LOGGER.warning(f"sum {x.sum():>10.2f}")
    return x


def returned(x):
    return f"<{x.sum()}>", {"text": str(x.max()), "x": x}


def keys(x):
    return x * sum(WEIGHTS[f"w{k}"] for k in range(2)), getattr(x, f"{'sum'}")()


FUNCTIONS = (
    *(formatted, by_percent, by_method, put_together, of_containers, of_objects),
    *(at_its_moment, stored, logged, returned, keys),
)


def seen(function, x):
    """What a call returns, prints, logs and stores."""
    handler, printed = Records(), io.StringIO()
    NOTES.clear()
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    try:
        with contextlib.redirect_stdout(printed):
            result = function(x.copy())
    finally:
        LOGGER.removeHandler(handler)
    return repr(result), printed.getvalue(), handler.found, repr(NOTES)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_texts_are_pythons(function):
    compiled = axiomjit.jit(function, strict=True)
    for x in (np.arange(5.0), np.arange(5.0) * 3, np.arange(6.0) + 1, np.arange(6.0)):
        assert seen(compiled, x) == seen(function, x)
    assert compiled.cache_info().traced == 1


class Simulation:
    def __init__(self):
        self.steps, self.label = 0, ""

    def step(self, x):
        self.steps += 1
        print(f"step {self.steps}: {x.sum():.3f}")
        self.label = f"{x.max()}"
        return x * 2


def test_a_simulation_that_says_where_it_is_stays_compiled():
    one, other, compiled = Simulation(), Simulation(), axiomjit.jit(Simulation.step, strict=True)
    for number in range(6):
        x = np.arange(4.0) * number
        assert seen(lambda x: compiled(one, x), x) == seen(other.step, x)
        assert (one.steps, one.label) == (other.steps, other.label)
        assert type(one.label) is str
    assert compiled.cache_info().traced <= 2


def warns(x):
    warnings.warn(f"sum {x.sum()}", stacklevel=1)
    warnings.warn("at the caller", RuntimeWarning, stacklevel=2)
    warnings.warn(DeprecationWarning("old"), stacklevel=1)
    inner(x)
    return x


def inner(x):
    warnings.warn("at the caller of inner", stacklevel=2)


def warned(function, x):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(x)
    return [(str(w.message), w.category, w.filename, w.lineno) for w in found]


def test_warnings_come_from_the_line_of_the_user():
    compiled = axiomjit.jit(warns, strict=True)
    for x in (np.arange(6.0), np.arange(7.0), np.arange(7.0) + 1):
        assert warned(compiled, x) == warned(warns, x)
        assert len(warned(compiled, x)) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="sum 15.0"):
            compiled(np.arange(6.0))
    assert compiled.cache_info().traced == 1


def test_levels_and_handlers_of_loggers_decide():
    compiled, x = axiomjit.jit(logged, strict=True), np.arange(3.0)
    assert seen(compiled, x) == seen(logged, x)
    LOGGER.setLevel(logging.ERROR)
    handler = Records()
    LOGGER.addHandler(handler)
    compiled(x)
    LOGGER.removeHandler(handler)
    assert handler.found == []


ASKING = {
    "length": lambda x: x if len(str(x.sum())) > 3 else -x,
    "key": lambda x: {str(x.sum()): x},
    "comparison": lambda x: x if f"{x.sum()}" == "3.0" else -x,
    "truth": lambda x: x if str(x.sum()) else -x,
    "number": lambda x: float(f"{x.sum()}") * x,
    "method": lambda x: (x, f"{x.sum()}".upper()),
    "part": lambda x: (x, str(x.sum())[0]),
    "name": lambda x: (x, getattr(NOTES, f"a{x.sum()}", None)),
}


@pytest.mark.parametrize("name", ASKING)
def test_who_asks_for_such_a_text_is_left_to_numpy(name):
    function, x = ASKING[name], np.arange(3.0)
    with pytest.raises(NeedsValuesError, match="asks for the text of a computed value"):
        axiomjit.jit(function, strict=True)(x)
    compiled = axiomjit.jit(function)
    with pytest.warns(axiomjit.base.errors.FallbackWarning):
        assert repr(compiled(x)) == repr(function(x))
