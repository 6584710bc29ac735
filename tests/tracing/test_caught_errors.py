"""What steps give beside arrays: errors that the function catches, and Python's bools."""

import numpy as np
import pytest

import axiomjit


def inverted(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return x * 0


class Inverting:
    """An object with methods that catch errors."""

    def inverted(self, x):
        try:
            return np.linalg.inv(x)
        except np.linalg.LinAlgError:
            return x * 0

    def either(self, x):
        return getattr(self, "inverted")(x) + self.inverted(x)  # noqa: B009


INVERTING, BY_NAME = Inverting(), {"inverted": inverted}


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize(
    "function",
    [
        inverted,
        lambda x: inverted(x * 2) + 1,
        lambda x: INVERTING.either(x) + 1,
        lambda x: BY_NAME["inverted"](x) + 1,
    ],
)
def test_errors_of_steps_that_the_function_catches(function):
    f = axiomjit.jit(function, strict=True)
    for x in (np.eye(5), np.zeros((5, 5)), np.eye(5) * 2):
        np.testing.assert_array_equal(f(x), function(x))


BOOLS = ("b + b", "True + b", "-b", "~b", "b.real", "b.imag", "b & True", "b - 1")


@pytest.mark.parametrize("text", [*BOOLS, "np.add(b, b)", "b * np.ones(2, 'i1')"])
def test_bools_of_python_are_its_integers_in_operators(text):
    function = eval(f"lambda x: (lambda b: {text})(np.array_equal(x, x))", {"np": np})
    before, found = axiomjit.stats()["fallbacks"], np.asarray(axiomjit.jit(function)(np.ones(3)))
    assert axiomjit.stats()["fallbacks"] == before
    expected = np.asarray(function(np.ones(3)))
    assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())
