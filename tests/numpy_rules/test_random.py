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
LISTED = [GLOBAL]
LEGACY = np.random.RandomState(1)
PYTHON = random.Random(1)

pytestmark = pytest.mark.usefixtures("in_numpy")


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


COMPILED_NOISE = axiomjit.jit(noise)


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


def shuffled(x, rng):
    rng.shuffle(x)
    return x + 1


HELD = [np.random.default_rng(seed) for seed in (7, 8, 9)]


def closure():
    rng = HELD[0]

    def inner(x):
        def deeper():
            return rng.random()

        return x * deeper()

    return inner


def default(x, rng=HELD[1]):
    return x * rng.random()


def noise_of_partial():
    draw = functools.partial(HELD[2].normal, 1)
    return lambda x: x * draw(2)


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
    "one number": lambda x: x * GLOBAL.normal() + np.random.rand() - GLOBAL.uniform(2, 3),
    "weak numbers": lambda x: x.astype("f4") * GLOBAL.normal() + np.random.rand(),
    "NumPy's number": lambda x: x.astype("f4") * GLOBAL.normal(1) + GLOBAL.choice([1.5, 2.5]),
    "integers": lambda x: x[GLOBAL.integers(5)] + x[np.random.randint(4)] + LEGACY.randint(3),
    "numbers alone": lambda x: GLOBAL.normal() * 2 + np.random.rand() + x[0] * 0,
    "returned": lambda x: np.stack([x[0] + GLOBAL.random(), x[1], GLOBAL.random() + x[2]]),
    "arrays and numbers": lambda x: x + GLOBAL.random(5) * GLOBAL.random() + GLOBAL.random(5),
    "shuffle": lambda x: shuffled(x * 2, GLOBAL),
    "legacy shuffle": lambda x: shuffled(np.stack([x, x + 1, x + 2]), np.random),
    "permutation of an array": lambda x: GLOBAL.permutation(x * 2) + LEGACY.permutation(x),
    "permuted": lambda x: GLOBAL.permuted(np.stack([x, x + 1]), axis=1),
    "choice of an array": lambda x: GLOBAL.choice(x * 2, 3) + np.random.choice(x, (2, 3)),
    "probabilities": lambda x: GLOBAL.choice(5, 8, p=(x + 1) / (x + 1).sum()) * 1.0,
    "computed parameters": lambda x: GLOBAL.normal(x, x + 1) + LEGACY.poisson(x + 1),
    "of computed numbers": lambda x: np.random.normal(x.sum(), 1, 5) + GLOBAL.random(5),
    "one of computed numbers": lambda x: x.astype("f4") * GLOBAL.normal(x.sum(), 1),
    "of a comprehension": lambda x: np.stack([x * GLOBAL.random() for _ in range(2)]),
    "by name": lambda x: x * GLOBAL.normal(loc=2, scale=0.5),
    "fixed seed": lambda x: x + np.random.default_rng(4).random() + np.random.RandomState(4).rand(),
    "list": lambda x: x * LISTED[0].random() + GLOBAL.random(),
    "compiled function it makes": lambda x: x + axiomjit.jit(noise)(5),
    "compiled function it calls": lambda x: x + COMPILED_NOISE(5),
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


@pytest.mark.parametrize("function", [closure(), default, noise_of_partial()])
def test_generators_that_a_function_holds(function):
    f = axiomjit.jit(function, strict=True)
    states = [one.bit_generator.state for one in HELD]
    wanted = [function(X), function(X)]
    for one, state in zip(HELD, states, strict=True):
        one.bit_generator.state = state
    np.testing.assert_array_equal([f(X), f(X)], wanted)


def test_numbers_as_a_compiled_program(golden):
    drawn = axiomjit.jit(lambda x: x * GLOBAL.normal() + LEGACY.rand(5) * GLOBAL.random(5))
    lowered = drawn.lower(X.astype("f4"))
    golden(f"{lowered.graph}\n{lowered.loops}\n{lowered.plan}")


def test_shuffles_and_permutations_as_a_compiled_program(golden):
    def mixed(x):
        y = x * 2
        GLOBAL.shuffle(y)
        return y + GLOBAL.permutation(x), x[GLOBAL.permutation(5)] * 3

    lowered = axiomjit.jit(mixed).lower(X)
    golden(f"{lowered.graph}\n{lowered.loops}\n{lowered.plan}")


ERRORS = {
    "scale": lambda x: x + GLOBAL.normal(0, -1, 5),
    "scale of a number": lambda x: x + GLOBAL.normal(0, -1),
    "size": lambda x: x + GLOBAL.normal(size=-1),
    "keyword": lambda x: x + GLOBAL.normal(wrong=1),
    "population": lambda x: x + GLOBAL.choice(3, 5, replace=False),
    "probabilities": lambda x: x + np.random.choice(2, p=[0.5, 0.1]),
    "bounds": lambda x: x + GLOBAL.integers(5, 2, 5),
    "too many": lambda x: x + np.random.randn(2.5),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    with pytest.raises(Exception) as wanted:  # noqa: PT011
        ERRORS[name](X)
    with pytest.raises(type(wanted.value)) as found:
        axiomjit.jit(ERRORS[name], strict=True)(X)
    assert str(found.value) == str(wanted.value)


def test_a_shuffled_argument_is_written():
    x, y, f = np.arange(9.0), np.arange(9.0), axiomjit.jit(shuffled, strict=True)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, one), shuffled(y, other))
        np.testing.assert_array_equal(x, y)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_parameters_that_numpy_refuses_by_value():
    f, rng = axiomjit.jit(lambda x, rng: rng.normal(0, x) + rng.random(5)), HELD[1]
    for x in (X + 1, X - 1, X + 2):
        state = rng.bit_generator.state
        if x[0] < 0:
            with pytest.raises(ValueError, match="scale < 0"):
                f(x, rng)
            assert rng.bit_generator.state == state
            continue
        found = f(x, rng)
        after, rng.bit_generator.state = rng.bit_generator.state, state
        np.testing.assert_array_equal(found, rng.normal(0, x) + rng.random(5))
        assert rng.bit_generator.state == after


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


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_lengths_that_are_drawn_with_before_a_draw_that_is_refused():
    def draws(x, rng):
        order = rng.permutation(x.shape[0])
        return x[order], rng.choice(x, 3)

    f = axiomjit.jit(draws)
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    for _ in range(2):
        for got, want in zip(f(X, one), draws(X, other), strict=True):
            np.testing.assert_array_equal(got, want)
    assert one.bit_generator.state == other.bit_generator.state


def test_a_generator_without_a_seed_draws_other_numbers():
    f = axiomjit.jit(lambda x: x + np.random.default_rng().random(5), strict=True)
    assert not np.array_equal(f(X), f(X))


def test_generators_of_partials_and_of_callable_objects():
    def drawing():
        return functools.partial(lambda r, x: x * r.random(), np.random.default_rng(3))

    for made in (drawing, Layer):
        compiled, plain = axiomjit.jit(made(), strict=True), made()
        for _ in range(3):
            np.testing.assert_array_equal(compiled(X), plain(X))


DRAWS = {
    "shuffle": (lambda x: (np.random.shuffle(np.arange(3)), x)[1], "a write into an array"),
    "random.random": (lambda x: x * random.random(), "calls random.random"),
    "Random": (lambda x: x * PYTHON.random(), "random of a Random"),
    "bytes": (lambda x: x + len(GLOBAL.bytes(3)), "a result that is a bytes"),
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
    """They are refused before anything is drawn."""
    function = DRAWS[name][0]
    seeded(lambda: None)
    before = [one.bit_generator.state for one in (GLOBAL, Layer.shared)]
    with pytest.raises(NeedsValuesError):
        axiomjit.jit(function, strict=True)(X)
    assert [one.bit_generator.state for one in (GLOBAL, Layer.shared)] == before
    expected = seeded(lambda: [function(X), function(X)])
    f = axiomjit.jit(function)
    found = seeded(lambda: [f(X), f(X)])
    np.testing.assert_array_equal(found, expected)


def test_generators_are_spawned_by_numpy_alone():
    one, other = np.random.default_rng(5), np.random.default_rng(5)
    f = axiomjit.jit(lambda x: x * one.spawn(1)[0].random())
    with pytest.warns(FallbackWarning, match="random numbers by spawn"):
        found = f(X)
    np.testing.assert_array_equal(found, X * other.spawn(1)[0].random())


@pytest.mark.parametrize(
    "make", [np.random.default_rng, np.random.RandomState, random.Random, np.random.PCG64]
)
def test_generators_among_the_arguments(make):
    draw = {
        "Generator": lambda rng: len(rng.bytes(3)),
        "RandomState": lambda rng: len(rng.bytes(3)),
        "Random": lambda rng: rng.random(),
        "PCG64": lambda rng: np.random.Generator(rng).random(),
    }[type(make(1)).__name__]

    def function(x, holder):
        return x * draw(holder)

    message = (
        r"calls random of a Random|with a source of bits from outside|a result that is a bytes"
    )
    with pytest.raises(NeedsValuesError, match=message):
        axiomjit.jit(function, strict=True)(X, make(1))
    with pytest.raises(NeedsValuesError, match=message):
        axiomjit.jit(lambda x, h: x * draw(h[0]["rng"]), strict=True)(X, [{"rng": make(1)}])


def test_generator_of_an_instance():
    layer, generator = Layer(), np.random.default_rng(5)
    for _ in range(3):
        np.testing.assert_array_equal(layer.apply(X), X * generator.random())
    layer.rng, generator = np.random.default_rng(6), np.random.default_rng(6)
    for _ in range(3):
        np.testing.assert_array_equal(layer.apply(X), X * generator.random())


def test_generator_of_a_class():
    def function(x):
        return x * Layer.shared.random() + GLOBAL.random()

    f = axiomjit.jit(function, strict=True)
    wanted = seeded(lambda: [function(X), function(X)])
    np.testing.assert_array_equal(seeded(lambda: [f(X), f(X)]), wanted)


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


def test_a_module_that_is_imported_while_following(tmp_path):
    """`numpy.random` is imported when it is first asked for; so may `random` be."""
    program = """
import sys, numpy as np, axiomjit
axiomjit.config.disable = True
def refused(function):
    try:
        axiomjit.jit(function, strict=True)(np.ones(5))
    except axiomjit.base.errors.NeedsValuesError as error:
        return "not loaded" in str(error)
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
    for options in ((), ("--only-import",)):
        file = tmp_path / "program.py"
        file.write_text(program, encoding="utf-8")
        command = [sys.executable, str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout.split() == ["False", "False", "False", "True"]


def test_numbers_drawn_in_a_function_without_a_module():
    space = {"rng": np.random.default_rng(5), "np": np}
    exec("def f(x):\n    y = rng.random(5)\n    return x * y if x[0] else x", space)
    with pytest.warns(FallbackWarning):
        found = axiomjit.jit(space["f"])(X + 1)
    np.testing.assert_array_equal(found, (X + 1) * np.random.default_rng(5).random(5))


def taken(x, at, rng):
    """Elements at positions that may be out of range, after a draw."""
    y = x + rng.random(3)[0]
    return y[at] * rng.standard_normal(), rng.integers(0, 9, size=4)


def test_generators_are_put_back_where_a_later_call_fails():
    good, bad = np.array([0, 2, 4]), np.array([0, 2, 5])
    ours, plain = np.random.default_rng(4), np.random.default_rng(4)
    compiled = axiomjit.jit(taken)
    for _ in range(5):
        for one, other in zip(compiled(X, good, ours), taken(X, good, plain), strict=True):
            np.testing.assert_array_equal(one, other)
    for rng, function in ((ours, compiled), (plain, taken)):
        with pytest.raises(IndexError, match="index 5 is out of bounds"):
            function(X, bad, rng)
    assert ours.bit_generator.state == plain.bit_generator.state
    another = np.random.default_rng(4), np.random.default_rng(4)
    for one, other in zip(compiled(X, good, another[0]), taken(X, good, another[1]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert ours.bit_generator.state == plain.bit_generator.state
