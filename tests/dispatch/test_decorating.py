"""What `jit` is given is looked at where it is written, and so are the arguments of a call."""

import functools
import inspect

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError, GraphValueError


async def coroutine(x):
    return x


async def asynchronous(x):
    yield x


def generator(x):
    yield x


class Adder:
    def __call__(self, x):
        return x + 1


class Steps:
    def __call__(self, x):
        yield x


FUNCTIONS = {
    "classmethod": (classmethod(lambda cls, x: x), "write @classmethod above @axiomjit.jit"),
    "staticmethod": (staticmethod(lambda x: x), "write @staticmethod above @axiomjit.jit"),
    "property": (property(lambda self: 1), "write @property above @axiomjit.jit"),
    "class": (Adder, "above its methods"),
    "type of NumPy's": (np.float64, "above its methods"),
    "coroutine": (coroutine, "coroutine function(.|\n)*functions that it calls"),
    "asynchronous": (asynchronous, "asynchronous generator(.|\n)*functions that it calls"),
    "generator": (generator, "generator, a generator function(.|\n)*functions that it calls"),
    "partial": (functools.partial(generator), "a generator function"),
    "instance": (Steps(), "type Steps, a generator function"),
    "number": (3, "above a function"),
    "signature": ("f8(f8)", "above a function"),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("options", [{}, {"strict": True}], ids=["plain", "options"])
def test_what_is_no_function_is_refused_where_it_is_written(name, options):
    function, said = FUNCTIONS[name]
    line = inspect.currentframe().f_lineno + 2
    with pytest.raises(GraphTypeError, match=said) as caught:
        aj.jit(**options)(function) if options else aj.jit(function)
    assert f"test_decorating.py:{line}" in str(caught.value)


def test_methods_of_all_kinds_are_compiled_in_the_other_order():
    class Scaled:
        by = 3.0

        @aj.jit
        def plain(self, x):
            return x * self.by

        @staticmethod
        @aj.jit
        def static(x):
            return x * 2

        @classmethod
        @aj.jit
        def of_class(cls, x):
            return x * cls.by

    x = np.arange(3.0)
    for found, factor in (
        (Scaled().plain(x), 3),
        (Scaled.static(x), 2),
        (Scaled().static(x), 2),
        (Scaled.of_class(x), 3),
        (aj.jit(Adder())(x) - 1, 1),
        (aj.jit(functools.partial(np.multiply, 4.0))(x), 4),
    ):
        np.testing.assert_array_equal(found, x * factor)


@pytest.mark.parametrize(
    ("option", "said"),
    [
        *((name, "use static_argnames") for name in ("static", "static_argnums")),
        *((name, "not needed") for name in ("nopython", "parallel", "cache", "inline", "nogil")),
        ("fastmath", "keep one order"),
        ("backend", "config.target"),
        ("donate_argnums", "write into its arguments"),
        ("boundscheck", "AXIOMJIT_CHECK"),
        ("abstracted_axes", "use shapes"),
        ("static_argname", "the options are static_argnames, shapes, strict"),
    ],
)
def test_options_of_other_compilers_are_refused(option, said):
    with pytest.raises(TypeError, match=f"jit\\({option}=...\\)(.|\n)*{said}"):
        aj.jit(**{option: True})
    with pytest.raises(TypeError, match=said):
        aj.jit(lambda x: x, **{option: True})


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("static_argnames", 1),
        ("static_argnames", [0]),
        ("static_argnames", b"n"),
        ("static_argnames", None),
        ("strict", "yes"),
        ("strict", 1),
        ("shapes", 3),
        ("shapes", ("i", "j")),
    ],
)
def test_values_of_options_have_their_types(option, value):
    with pytest.raises(GraphTypeError, match="instead: give ") as caught:
        aj.jit(**{option: value})
    assert f"jit({option}={value!r})" in str(caught.value)


@pytest.mark.parametrize("names", ["n", ("n",), ["n"], {"n"}, frozenset({"n"})])
def test_names_of_parameters_are_given_in_any_collection(names):
    repeated = aj.jit(lambda x, n: x * n if n > 1 else x, static_argnames=names)
    np.testing.assert_array_equal(repeated(np.ones(3), 2), np.full(3, 2.0))
    with pytest.raises(GraphValueError, match=r"test_decorating.py:\d+: jit.*\n.*no parameter 'n'"):
        aj.jit(lambda x: x, static_argnames=names)


def mixed(a, /, b, c=1, *, d, e=None):
    return a + b


def starred(a, *rest, **more):
    return a


CALLS = {
    "missing": (mixed, (1.0,), {"d": 1}),
    "missing keyword": (mixed, (1.0, 2.0), {}),
    "unexpected": (mixed, (1.0, 2.0), {"d": 1, "f": 2}),
    "by name": (mixed, (), {"a": 1.0, "b": 2.0, "d": 1}),
    "too many": (mixed, (1.0, 2.0, 3.0, 4.0), {"d": 1}),
    "twice": (mixed, (1.0, 2.0), {"b": 1.0, "d": 1}),
    "starred": (starred, (), {"b": 1}),
    "lambda": (lambda x: x, (), {}),
    "method": (Adder.__call__, (), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_that_do_not_fit_are_told_as_python_tells_them(name):
    function, args, kwargs = CALLS[name]
    with pytest.raises(TypeError) as expected:
        function(*args, **kwargs)
    jitted = aj.jit(function)
    for call in (jitted, jitted.lower, jitted.explain, jitted.warm):
        with pytest.raises(TypeError) as caught:
            call(*args, **kwargs)
        assert str(caught.value) == str(expected.value)
