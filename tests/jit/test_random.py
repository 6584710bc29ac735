"""Random numbers drawn while a function is followed: refused, and drawn as in NumPy."""

import functools
import random
import subprocess
import sys

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

X = np.arange(5.0)
GLOBAL = np.random.default_rng(1)
LEGACY = np.random.RandomState(1)
PYTHON = random.Random(1)


@pytest.fixture(autouse=True)
def in_numpy(monkeypatch):
    """Nothing here is about kernels."""
    monkeypatch.setattr(axiomjit.config, "disable", True)


def seeded(action):
    """What an action gives with every generator of this file at its start."""
    np.random.seed(3)
    random.seed(3)
    for one, other in ((GLOBAL, np.random.default_rng(1)), (Layer.shared, np.random.PCG64(2))):
        one.bit_generator.state = getattr(other, "bit_generator", other).state
    LEGACY.seed(1)
    PYTHON.seed(1)
    return action()


def noise(shape):
    return GLOBAL.normal(size=shape)


class Layer:
    shared = np.random.Generator(np.random.PCG64(2))

    def __init__(self):
        self.rng = np.random.default_rng(5)

    def __call__(self, x):
        return x + self.rng.random(5)

    def apply(self, x):
        return x * self.rng.random()

    apply = axiomjit.jit(apply, strict=True)


class Slots:
    __slots__ = ("rng",)


def with_slots(x):
    holder = Slots()
    holder.rng = GLOBAL
    return functools.partial(lambda holder, x: x + holder.rng.random(), holder)(x)


def closure():
    rng = np.random.default_rng(7)

    def inner(x):
        def deeper():
            return rng.random()

        return x * deeper()

    return inner


def default(x, rng=np.random.default_rng(8)):  # noqa: B008
    return x * rng.random()


COMPILED = {
    "rand": lambda x: x + np.random.rand(5),
    "randn": lambda x: x[:, None] * np.random.randn(5, x.shape[0]),
    "seed": lambda x: (np.random.seed(7), np.random.rand(2), x + np.random.rand(5))[2],
    "permutation": lambda x: x[np.random.permutation(2)[0]],
    "Generator": lambda x: x + GLOBAL.random(5),
    "method": lambda x, draw=GLOBAL.normal: x + draw(1, 2, x.shape),
    "nobody uses it": lambda x: (GLOBAL.random(3), x + GLOBAL.random(5), GLOBAL.random(2))[1],
    "nobody uses any": lambda x: (GLOBAL.random(3), x)[1],
    "RandomState": lambda x: x + LEGACY.rand(5) + LEGACY.randint(0, 9, x.shape[0]),
    "of a function it calls": lambda x: x + noise(5),
    "float32": lambda x: x + GLOBAL.random(5, dtype="f4") * GLOBAL.standard_normal((2, 1)),
    "choice": lambda x: x[:4] + GLOBAL.choice(10, 4, replace=False),
    "dirichlet": lambda x: GLOBAL.dirichlet([1.0, 2.0, 3.0], size=x.shape).sum(0),
    "empty": lambda x: (GLOBAL.random(0), GLOBAL.random((0, 3)), x + GLOBAL.random(5))[2],
}


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", COMPILED)
def test_numbers_are_drawn_anew_at_each_call(name, compiled, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", not compiled)
    function = COMPILED[name]
    f = axiomjit.jit(function, strict=True)

    def numbers(called):
        found = [called(X), called(X), called(X + 1)]
        return found, GLOBAL.random(), LEGACY.rand(), np.random.rand()

    wanted, *states = seeded(lambda: numbers(function))
    found, *others = seeded(lambda: numbers(f))
    for got, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, want)
    assert states == others
    assert f.cache_info().traced == 1


def test_another_length_draws_as_many():
    f = axiomjit.jit(lambda x: x + GLOBAL.normal(size=x.shape), strict=True)
    for x in (X, np.arange(9.0), np.arange(3.0)):
        want = seeded(lambda x=x: x + GLOBAL.normal(size=x.shape))
        np.testing.assert_array_equal(seeded(lambda x=x: f(x)), want)


def test_generators_given_as_arguments():
    f = axiomjit.jit(lambda x, rng: x + rng.random(5), strict=True)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(3):
        np.testing.assert_array_equal(f(X, one), X + other.random(5))
    assert f.cache_info().traced == 1


def test_a_generator_without_a_seed_draws_other_numbers():
    f = axiomjit.jit(lambda x: x + np.random.default_rng().random(5), strict=True)
    assert not np.array_equal(f(X), f(X))


BY_VALUE = "a result that is a float"
DRAWS = {
    "shuffle": (lambda x: (np.random.shuffle(np.arange(3)), x)[1], "writes into an array"),
    "of computed numbers": (lambda x: np.random.normal(x.sum(), 1, 5), "computed in it"),
    "random.random": (lambda x: x * random.random(), "the global generator of random"),
    "Random": (lambda x: x * PYTHON.random(), "PYTHON"),
    "attribute of a class": (lambda x: x * Layer.shared.random(), "Layer.shared"),
    "of a comprehension": (lambda x: [x * GLOBAL.random() for _ in range(2)], BY_VALUE),
    "closure": (closure(), BY_VALUE),
    "default": (default, BY_VALUE),
    "partial": (functools.partial(lambda r, x: x * r.random(), GLOBAL), "the function"),
    "callable object": (Layer(), "rng"),
    "bound method": (Layer().__call__, "rng"),
    "compiled function it calls": (lambda x: x + axiomjit.jit(noise)(5), "GLOBAL"),
}


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")  # of functions it calls
@pytest.mark.parametrize("name", DRAWS)
def test_drawing_is_refused(name):
    function, what = DRAWS[name]
    with pytest.raises(NeedsValuesError, match="random numbers (drawn in|by)") as caught:
        axiomjit.jit(function, strict=True)(X)
    assert "draw them outside and pass them as an argument" in str(caught.value)
    assert any(part in caught.value.seen for part in what.split("|")), caught.value.seen
    assert caught.value.where is None or "test_random.py:" in caught.value.where


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("name", [n for n in DRAWS if "seed" not in n])
def test_in_numpy_the_numbers_are_those_of_numpy(name):
    """The states are put back, so that following draws nothing."""
    function = DRAWS[name][0]
    seeded(lambda: None)
    before = [one.bit_generator.state for one in (GLOBAL, Layer.shared)]
    with pytest.raises(NeedsValuesError):
        axiomjit.jit(function, strict=True)(X)
    assert [one.bit_generator.state for one in (GLOBAL, Layer.shared)] == before
    if name in ("closure", "default", "callable object", "bound method"):
        return  # their generators stand where the last test left them
    expected = seeded(lambda: [function(X), function(X)])
    f = axiomjit.jit(function)
    found = seeded(lambda: [f(X), f(X)])
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "make", [np.random.default_rng, np.random.RandomState, random.Random, np.random.PCG64]
)
def test_generators_among_the_arguments(make):
    draw = {
        "Generator": lambda rng: rng.random(),
        "RandomState": lambda rng: rng.rand(),
        "Random": lambda rng: rng.random(),
        "PCG64": lambda rng: np.random.Generator(rng).random(),
    }[type(make(1)).__name__]

    def function(x, holder):
        return x * draw(holder)

    message = "an argument changed meanwhile|a result that is a float"
    with pytest.raises(NeedsValuesError, match=message):
        axiomjit.jit(function, strict=True)(X, make(1))
    with pytest.raises(NeedsValuesError, match=message):
        axiomjit.jit(lambda x, h: x * draw(h[0]["rng"]), strict=True)(X, [{"rng": make(1)}])


def test_generator_of_an_instance():
    with pytest.raises(NeedsValuesError, match=r"an argument\.rng changed meanwhile"):
        Layer().apply(X)


def test_states_are_put_back_where_following_failed_for_another_reason():
    def function(x):
        y = x + GLOBAL.random(5)
        return y if y.max() > 100 else -y

    expected = seeded(lambda: function(X))
    with pytest.warns(FallbackWarning, match="truth"):
        np.testing.assert_array_equal(seeded(lambda: axiomjit.jit(function)(X)), expected)


def test_fixed_seeds_inside_the_function_are_constants():
    f = axiomjit.jit(lambda x: x + np.random.default_rng(0).random(5), strict=True)
    np.testing.assert_array_equal(f(X), X + np.random.default_rng(0).random(5))


def test_functions_that_draw_nothing_leave_every_state_alone():
    state = np.random.get_state()[1].copy(), random.getstate(), GLOBAL.bit_generator.state
    axiomjit.jit(lambda x: x + len(str(GLOBAL)) * 0 + noise.__code__.co_argcount, strict=True)(X)
    assert random.getstate() == state[1]
    assert GLOBAL.bit_generator.state == state[2]
    np.testing.assert_array_equal(np.random.get_state()[1], state[0])


def test_a_module_that_is_imported_while_following():
    """`numpy.random` is imported when it is first asked for; so may `random` be."""
    program = """
import sys, numpy as np, axiomjit
axiomjit.config.disable = True
def refused(function):
    try:
        axiomjit.jit(function, strict=True)(np.ones(5))
    except axiomjit.base.errors.NeedsValuesError as error:
        return "global generator" in str(error)
    return False
sys.modules.pop("random", None)
print("numpy.random" in sys.modules, refused(lambda x: x * 2))
print("numpy.random" in sys.modules)
def imports(x):
    import numpy.random
    return x
def draws(x):
    import random
    return x * random.random()
print(refused(imports if "--only-import" in sys.argv else draws))
"""
    for options, last in (((), "True"), (("--only-import",), "False")):
        command = [sys.executable, "-c", program, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False", "False", "False", last]
