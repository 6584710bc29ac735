"""Traced values belong to one following: kept outside, they are refused by name and line."""

import contextvars
import functools
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, TraceError
from axiomjit.graph.evaluate_graph import evaluate_graph
from tests.passes.graphs import follow_plainly as follow

HERE = Path(__file__).name
X = np.arange(42.0).reshape(6, 7)
Y = np.arange(30.0).reshape(5, 6)

pytestmark = pytest.mark.usefixtures("in_numpy")


def kept(make=lambda x: x.mean(0), argument=X):
    """A traced value that outlived the following of `first`."""
    box = []

    def first(x):
        box.append(make(x))
        return x * 2

    follow(first, argument)  # a call of the compiled function would not let it change `box`
    return box[0]


def raised_by(action):
    with pytest.raises(TraceError) as caught:
        action()
    return str(caught.value)


ENTRIES = {
    "operator": lambda x, mu: x - mu,
    "mirrored operator": lambda x, mu: 1.0 - mu,
    "array on the left": lambda x, mu: np.ones(7) - mu,
    "prefix": lambda x, mu: -mu,
    "comparison": lambda x, mu: x > mu,
    "matrix product": lambda x, mu: x @ mu,
    "ufunc": lambda x, mu: np.subtract(x, mu),
    "ufunc of it alone": lambda x, mu: np.sin(mu),
    "reduction": lambda x, mu: np.add.reduce(mu),
    "function": lambda x, mu: np.where(x > 0, x, mu),
    "shape function": lambda x, mu: np.shape(mu),
    "in a list": lambda x, mu: np.stack([x[0], mu]),
    "in a nested list": lambda x, mu: np.block([[x[0]], [mu]]),
    "in a tuple": lambda x, mu: np.concatenate((x[0], mu)),
    "in an option": lambda x, mu: np.clip(x, a_min=mu, a_max=None),
    "index": lambda x, mu: x[mu],
    "bound of a slice": lambda x, mu: x[mu:],
    "indexed": lambda x, mu: mu[0],
    "iterated": lambda x, mu: list(mu),
    "attribute": lambda x, mu: x + mu.shape[0],
    "transposed": lambda x, mu: x[0] + mu.T,
    "method": lambda x, mu: mu.sum(),
    "method that is not compiled": lambda x, mu: mu.argpartition(1),
    "cast": lambda x, mu: mu.astype("f4"),
    "truth": lambda x, mu: x if mu else -x,
    "number": lambda x, mu: x * float(mu),
    "values": lambda x, mu: np.asarray(mu),
    "text": lambda x, mu: str(mu),
    "written into": lambda x, mu: mu.__setitem__(0, 1),
    "returned": lambda x, mu: mu,
    "returned in a list": lambda x, mu: [x + 1, {"mu": mu}],
    "error function": lambda x, mu: axiomjit.erf(mu),
    "in a compiled function": lambda x, mu: axiomjit.jit(lambda a, b: a + b)(x, mu),
    "in a compiled function of it": lambda x, mu: axiomjit.jit(lambda a: a)(np.ones(3)) + mu,
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_array_of_another_call_is_refused(entry):
    mu = kept()
    message = raised_by(lambda: axiomjit.jit(lambda x: ENTRIES[entry](x, mu))(X))
    assert "of another call, kept from when kept.<locals>.first was followed, made at" in message
    assert f"{HERE}:{kept.__code__.co_firstlineno}" in message
    assert message.startswith(str(Path(__file__)))


@pytest.mark.parametrize("entry", ENTRIES)
def test_array_of_another_call_is_refused_where_nothing_is_followed(entry):
    mu = kept()
    message = raised_by(lambda: ENTRIES[entry](X, mu) if "returned" not in entry else mu + 1)
    assert "in code that is not compiled" in message


LENGTHS = {
    "sum": lambda x, n: x * (n + 1),
    "difference": lambda x, n: x * (x.shape[0] - n),
    "quotient": lambda x, n: x / n,
    "scaled": lambda x, n: n * x,
    "ufunc": lambda x, n: np.multiply(x, n),
    "equal": lambda x, n: x if n == 5 else -x,
    "equal lengths": lambda x, n: x if x.shape[0] == n else -x,
    "less": lambda x, n: x if n < 9 else -x,
    "int": lambda x, n: x * int(n),
    "float": lambda x, n: x * float(n),
    "truth": lambda x, n: x if n else -x,
    "hash": lambda x, n: x * {6: 1}[n],
    "range": lambda x, n: x * sum(range(n)),
    "text": lambda x, n: (f"{n}", x),
    "zeros": lambda x, n: x[0, 0] + np.zeros(n),
    "zeros in a shape": lambda x, n: x[0, 0] + np.zeros((n, 2)),
    "reshape": lambda x, n: x.reshape(n, -1),
    "reshape to a shape": lambda x, n: np.reshape(x, (n, -1)),
    "slice": lambda x, n: x[:n],
    "index": lambda x, n: x[n],
    "axis": lambda x, n: x.sum(axis=n),
    "repeated": lambda x, n: np.repeat(x, n),
    "returned": lambda x, n: n,
    "returned in a dict": lambda x, n: {"n": n},
    "in a compiled function": lambda x, n: axiomjit.jit(lambda a, b: a * b)(x, n),
}


@pytest.mark.parametrize("make", [lambda x: x.shape[0], lambda x: x.size], ids=["shape", "size"])
@pytest.mark.parametrize("entry", LENGTHS)
def test_length_of_another_call_is_refused(entry, make):
    n = kept(make)
    message = raised_by(lambda: axiomjit.jit(lambda x: LENGTHS[entry](x, n))(X))
    assert "a traced length of another call, kept from when kept.<locals>.first was" in message


@pytest.mark.parametrize("entry", [name for name in LENGTHS if not name.startswith("returned")])
def test_length_of_another_call_is_refused_where_nothing_is_followed(entry):
    n = kept(lambda x: x.shape[0])
    with pytest.raises(TypeError):  # NumPy has an error of its own for some shapes
        LENGTHS[entry](X, n)


def test_integer_and_number_arguments_of_another_call_are_refused():
    for make in (lambda x, k: k, lambda x, k: k + 1):
        for value in (3, 2.5):
            box = []
            follow(lambda x, k: box.append(make(x, k)) or x, X, value)  # noqa: B023
            with pytest.raises(TraceError, match="of another call, kept from when"):
                axiomjit.jit(lambda x: x * box[0])(X)  # noqa: B023


class Scaler:
    def fit(self, x):
        self.mu = x.mean(0)
        self.n = x.shape[0]
        return x.sum()

    def apply(self, x):
        return (x - self.mu) * self.n

    fit, apply = axiomjit.jit(fit), axiomjit.jit(apply)


def test_attribute_that_one_method_sets_and_another_reads():
    scaler, plain = Scaler(), Scaler()
    for x in (X, X + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            fitted = scaler.fit(x)
        np.testing.assert_allclose(fitted, Scaler.fit.__wrapped__(plain, x))
        np.testing.assert_array_equal(scaler.mu, plain.mu)
        assert scaler.n == plain.n
        np.testing.assert_allclose(scaler.apply(x), Scaler.apply.__wrapped__(plain, x))


def test_memo_of_arrays_in_a_global():
    def program():
        memo = {}

        def doubled(x):
            if "doubled" not in memo:
                memo["doubled"] = x * 2
            return memo["doubled"] + x

        return doubled

    f, plain = axiomjit.jit(program()), program()
    for x in (X, X.astype("f4"), X + 1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            got = f(x)
        want = plain(x)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_memo_of_plain_values_by_length_is_kept():

    @functools.lru_cache
    def weights(n):
        return np.arange(float(n))

    memo = {}

    def function(x):
        return x * weights(x.shape[0])[:, None] * memo.setdefault(x.shape[0], 2.0)

    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning, match="weights, which returns one object from its"):
        f(X)
    for x in (X, X.T.copy(), X.astype("f4"), Y, X[:3]):
        np.testing.assert_allclose(f(x), function(x))
    assert len(memo) == 4


def test_refused_in_another_call_of_the_same_class():
    """Nodes are interned: only the following tells the two calls apart."""
    box = []

    def keeping(x, first):
        y = x * 3
        if first:
            box.append(y)
        return box[0] + y

    follow(lambda x: keeping(x, first=True), X)
    with pytest.raises(TraceError, match=r"traced float64 array with 2 dimensions of another call"):
        follow(lambda x: keeping(x, first=False), X + 100)


def test_generator_that_outlives_its_call():
    box = []

    def opens(x):
        box.append(row * 2 for row in x)
        return next(box[0])

    follow(opens, X)
    with pytest.raises(TraceError, match="of another call"):
        follow(lambda x: x[0] + next(box[0]), X)
    box.clear()
    follow(opens, Y)
    with pytest.raises(TraceError, match="in code that is not compiled"):
        next(box[0])


@pytest.mark.parametrize("entry", ["closure", "argument", "default", "attribute", "inside a list"])
def test_functions_compiled_inside_one_that_is_followed(entry):
    """They are part of it where they are given what it traces, however deep."""

    class Holder:
        pass

    def outer(x):
        holder = Holder()
        holder.value = x * 2
        calls = {
            "closure": lambda: axiomjit.jit(lambda a: a + holder.value)(x),
            "argument": lambda: axiomjit.jit(lambda a, b: a + b)(x, x * 2),
            "default": lambda: axiomjit.jit(lambda a, b=holder.value: a + b)(x),
            "attribute": lambda: axiomjit.jit(lambda a, h: a + h.value)(np.ones(7), holder),
            "inside a list": lambda: axiomjit.jit(lambda a, h: a + h[0]["k"])(X, [{"k": x * 2}]),
        }
        return calls[entry]()

    np.testing.assert_array_equal(axiomjit.jit(outer)(X), outer(X))


def test_function_compiled_inside_with_plain_arrays_has_its_own_following():
    inner = axiomjit.jit(lambda a: a * 2)

    def outer(x):
        constant = inner(np.ones(7))
        assert type(constant) is np.ndarray
        return x + constant

    np.testing.assert_array_equal(axiomjit.jit(outer)(X), X + 2)
    closed = axiomjit.jit(lambda x: axiomjit.jit(lambda a: a + x)(np.arange(7)))
    np.testing.assert_array_equal(closed(X), X + np.arange(7))


def test_two_threads_follow_at_the_same_time():
    meet, results, errors = threading.Barrier(2, timeout=60), {}, []
    shared = {}

    def run(name, x):
        def function(x):
            shared[name] = x * 2
            meet.wait()
            own = shared[name] + x.shape[0]
            meet.wait()
            with suppress(TraceError):
                shared["other" if name == "one" else "one"] + 1
            meet.wait()
            return own

        try:
            results[name] = follow(function, x)
        except TraceError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=run, args=pair) for pair in (("one", X), ("other", X + 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {}
    assert len(errors) == 2
    assert all("which is still followed in another thread" in text for text in errors)


def test_threads_that_keep_to_themselves_are_not_disturbed():
    meet, results = threading.Barrier(2, timeout=60), {}

    def run(name, x):
        def function(x):
            meet.wait()
            y = x * x.shape[0]
            meet.wait()
            return y + x

        results[name] = follow(function, x)

    pairs = (("one", X), ("other", Y))
    threads = [threading.Thread(target=run, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for name, x in pairs:
        case = results[name]
        (found,) = evaluate_graph(case.graph, case.arguments, case.values)
        np.testing.assert_array_equal(found, x * len(x) + x)


def test_context_that_was_copied_while_a_function_was_followed():
    box = []

    def copies(x):
        box.append((x * 2, contextvars.copy_context()))
        return x

    follow(copies, X)
    value, context = box[0]
    with pytest.raises(TraceError, match="of another call"):
        context.run(lambda: value + 1)


def test_repr_of_kept_values_stays_available():
    assert repr(kept()) == "Traced(f8[n1])"
    assert repr(kept(lambda x: x.shape[0])) == "<length n0 of another call>"
    assert isinstance(kept(), np.ndarray)


def test_lengths_that_meet_traced_numbers_stay_symbolic():
    def function(x, k):
        rows = x.shape[0]
        return np.multiply(rows, x), np.where(rows < k, x, -x), (rows == k) * x, np.add(rows, k)

    f = axiomjit.jit(function, strict=True)
    for x, k in ((X, 2.5), (X, 6.0), (X[:5], 5.0)):
        for one, other in zip(f(x, k), function(x, k), strict=True):
            np.testing.assert_array_equal(one, other)
    g = axiomjit.jit(lambda x: np.multiply(x.shape[0], x), strict=True)
    assert [g(x).shape for x in (X, X[:5])] == [(6, 7), (5, 7)]
    assert g.cache_info().traced == 1
