"""Functions that change what lives outside them: once in each call, compiled or in NumPy."""

import itertools
import random
import threading
import time
import types
import warnings
from collections import OrderedDict, defaultdict, deque
from contextlib import nullcontext

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

X = np.arange(5.0)


class Holder:
    total = 0

    def __init__(self):
        self.count = 0
        self.parts = []


class Slotted:
    __slots__ = ("count",)

    def __init__(self):
        self.count = 0


LIST, DICT, SET, DEQUE, BYTES, ORDERED = [], {}, set(), deque(), bytearray(), OrderedDict()
DEFAULTS, ARRAY, COUNT, HOLDER, SLOTTED = defaultdict(list), np.zeros(3), 0, Holder(), Slotted()
RNG, NESTED = np.random.default_rng(3), {"a": [{"b": []}]}


def count():
    global COUNT
    COUNT += 1


def closure():
    number = 0

    def change():
        nonlocal number
        number += 1

    return change, lambda: number


CHANGE, NUMBER = closure()


def _count_on_class():
    Holder.total += 1


def _count_on_function():
    count.calls = getattr(count, "calls", 0) + 1


def _default(seen=[]):  # noqa: B006
    seen.append(1)
    return len(seen) - 1


EFFECTS = {
    "list": (lambda: LIST.append(1), lambda: len(LIST)),
    "list item": (lambda: LIST.__setitem__(slice(0, 0), [object()]), lambda: len(LIST)),
    "dict": (lambda: DICT.update({len(DICT): 1}), lambda: len(DICT)),
    "ordered": (lambda: ORDERED.update({len(ORDERED): 1}), lambda: len(ORDERED)),
    "defaultdict": (lambda: DEFAULTS["a"].append(1), lambda: len(DEFAULTS["a"])),
    "set": (lambda: SET.add(len(SET)), lambda: len(SET)),
    "deque": (lambda: DEQUE.append(1), lambda: len(DEQUE)),
    "bytearray": (lambda: BYTES.extend(b"a"), lambda: len(BYTES)),
    "array": (lambda: ARRAY.__iadd__(1), lambda: int(ARRAY[0])),
    "view": (lambda: ARRAY[:1].__iadd__(1), lambda: int(ARRAY[0])),
    "global": (count, lambda: COUNT),
    "nonlocal": (CHANGE, lambda: NUMBER()),
    "attribute": (lambda: setattr(HOLDER, "count", HOLDER.count + 1), lambda: HOLDER.count),
    "attribute's list": (lambda: HOLDER.parts.append(1), lambda: len(HOLDER.parts)),
    "slot": (lambda: setattr(SLOTTED, "count", SLOTTED.count + 1), lambda: SLOTTED.count),
    "class": (_count_on_class, lambda: Holder.total),
    "function": (_count_on_function, lambda: getattr(count, "calls", 0)),
    "nested": (lambda: NESTED["a"][0]["b"].append(1), lambda: len(NESTED["a"][0]["b"])),
}
RESTS = {
    "compiled": lambda x: x + 1,
    "asks": lambda x: x if x.sum().item() > 0 else -x,
    "writes": lambda x: np.copyto(x.copy(), 1) or x,
}
IN_NUMPY = ("asks",)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", RESTS)
@pytest.mark.parametrize("effect", EFFECTS)
def test_each_call_changes_things_once(effect, name, after, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "warn")
    change, seen = EFFECTS[effect]
    rest = RESTS[name]

    def function(x):
        if not after:
            change()
        result = rest(x)
        if after:
            change()
        return result

    before = seen()
    f = axiomjit.jit(function)
    in_numpy = name in IN_NUMPY or effect == "bytearray"
    with pytest.warns(FallbackWarning) if in_numpy else nullcontext() as caught:
        np.testing.assert_array_equal(f(X), rest(X))
        assert seen() == before + 1
        np.testing.assert_array_equal(f(X + 1), rest(X + 1))
    assert seen() == before + 2
    assert len(caught or ()) == in_numpy


@pytest.mark.parametrize("effect", EFFECTS)
def test_what_is_traced_and_refused_has_changed_nothing(effect):
    change, seen = EFFECTS[effect]

    def function(x):
        change()
        return RESTS["asks"](x)

    before = seen()
    with pytest.raises(
        NeedsValuesError, match="by array.item|condition|of a bytearray, which lives on"
    ):
        axiomjit.jit(function, strict=True)(X)
    assert seen() == before


@pytest.mark.parametrize(
    "draw",
    [
        lambda: RNG.normal(),
        lambda: np.random.rand(),
        lambda: np.random.uniform(1, 2),
        lambda: random.random(),
        lambda: random.gauss(0, 1),
    ],
)
def test_random_numbers_are_drawn_as_in_numpy(draw):
    global RNG
    f, results = axiomjit.jit(lambda x: x + draw()), []
    for run in (lambda x: x + draw(), f):
        RNG = np.random.default_rng(3)
        np.random.seed(4)
        random.seed(5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            results.append([run(X) for _ in range(3)])
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("name", RESTS)
def test_output_is_printed_once_a_call(name, capsys, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "warn")

    def function(x):
        print("values", x[:2])
        return RESTS[name](x)

    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning) if name in IN_NUMPY else nullcontext():
        f(X)
    f(X)
    assert capsys.readouterr().out == "values [0. 1.]\n" * 2


def test_output_of_other_threads_and_before_errors_is_kept(capsys):
    def function(x):
        print("mine")
        other = threading.Thread(target=lambda: print("theirs"))
        other.start()
        other.join()
        raise LookupError

    with pytest.raises(LookupError), pytest.warns(FallbackWarning, match="threading.Thread"):
        axiomjit.jit(function)(X)
    printed = sorted(capsys.readouterr().out.split())
    assert printed[:2] == ["mine", "theirs"]
    assert printed.count("mine") == 1


class Lazy:
    def __init__(self):
        self.known = {}

    def weights(self, n):
        if n not in self.known:
            self.known[n] = np.arange(float(n))
        return self.known[n]


def test_a_value_that_is_computed_once_is_kept():
    lazy = Lazy()
    f = axiomjit.jit(lambda x: x * lazy.weights(5), strict=True)
    np.testing.assert_array_equal(f(X), X * X)
    kept = lazy.known[5]
    np.testing.assert_array_equal(f(X), X * X)
    assert lazy.known[5] is kept
    kept[...] = 2
    np.testing.assert_array_equal(f(X), X * 2)


def append(values):
    values.append(values[0])


def insert(values):
    values.insert(0, values.pop())


def put(values):
    values[0] = values[0] + 1


def extend(values):
    values += values


CHANGES = {
    "append": (append, lambda: [X.copy(), X + 1]),
    "insert": (insert, lambda: [X.copy(), X + 1]),
    "put": (put, lambda: [X.copy(), X + 1]),
    "extend": (extend, lambda: [X.copy(), 2.0]),
    "clear": (lambda values: values.clear(), lambda: [X.copy()]),
    "new key": (lambda values: values.update(b=3), lambda: {"a": X.copy()}),
    "other value": (lambda values: values.update(a=1), lambda: {"a": X.copy()}),
    "deleted": (lambda values: values.popitem(), lambda: {"a": X.copy(), "b": 1}),
    "order": (lambda values: values.update(a=values.pop("a")), lambda: {"a": 1.0, "b": X.copy()}),
    "nested": (lambda values: values["a"][0].append(1), lambda: {"a": ([1.0, X.copy()], 3)}),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("form", ["positional", "keyword", "rest"])
def test_containers_among_the_arguments_are_changed_as_in_numpy(name, form):
    change, make = CHANGES[name]

    def function(x, *rest, values=None):
        change(rest[0] if rest else values)
        return x * 2

    def positional(x, values):
        change(values)
        return x * 2

    run = positional if form == "positional" else function
    f = axiomjit.jit(run, strict=True)
    for _ in range(2):
        got, want = make(), make()
        for call, values in ((f, got), (run, want)):
            call(X, values=values) if form == "keyword" else call(X, values)
        np.testing.assert_equal(got, want)


@pytest.mark.parametrize("how", ["raise", "call", "print", "log"])
@pytest.mark.parametrize("operation", [lambda x: 1 / x, np.log, lambda x: -x, lambda x: x.sum()])
def test_error_states_set_inside_are_refused(how, operation):
    def function(x):
        with np.errstate(divide=how):
            return operation(x)

    with pytest.raises(NeedsValuesError, match=rf"divide='{how}'"):
        axiomjit.jit(function, strict=True)(X)


def test_error_states_set_inside_keep_their_meaning():
    def function(x):
        with np.errstate(divide="raise"):
            return 1 / x

    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning, match="errstate"):
        f(X + 1)
    with pytest.raises(FloatingPointError, match="divide"):
        f(X)


@pytest.mark.parametrize("how", ["ignore", "warn"])
def test_error_states_that_pass_errors_over_are_compiled(how):
    def function(x):
        with np.errstate(all=how):
            return 1 / x

    assert np.isinf(axiomjit.jit(function, strict=True)(X)[0])


def test_an_error_state_left_behind_is_set_once():
    before = np.geterr()

    def function(x):
        np.seterr(divide="raise")
        return x

    try:
        with pytest.warns(FallbackWarning, match=r"calls numpy\.seterr"):
            axiomjit.jit(function)(X)
        assert np.geterr()["divide"] == "raise"
    finally:
        np.seterr(**before)


class Unreadable(dict):
    def items(self):
        raise RuntimeError("not now")


class Proxy:
    def __getattr__(self, name):
        raise RuntimeError("not now")


@pytest.mark.parametrize("kind", [Unreadable, Proxy])
def test_what_cannot_be_looked_at_is_left_alone(kind):
    odd = kind()
    np.testing.assert_array_equal(axiomjit.jit(lambda x: x + (odd is None))(X), X)


W, SECOND, STATE = np.arange(5.0), np.ones((2, 5)), {"prev": None}


class Counted:
    def __init__(self):
        self.first, self.known, self.w = True, [], np.ones(5)

    @property
    def counted(self):
        self.known.append(1)
        return 2.0

    def __add__(self, other):
        self.known.append(1)
        return other + 1

    def __call__(self, x):
        return x * 2 if self.first else x


def numbers():
    k = 0
    while True:
        k += 1
        yield k


COUNTED, NUMBERS, COUNTS, HELPERS = Counted(), numbers(), itertools.count(), (LIST.append, len)


def reads_then_writes(x):
    y = x + W
    W[2] += 7
    return y


def previous(x):
    same = STATE["prev"] == x.shape
    STATE["prev"] = x.shape
    return x + same


def first(x):
    r = x * 100 if COUNTED.first else x
    COUNTED.first = False
    return r


def through_views(x):
    part = np.asarray(SECOND).T[1:]
    part[0] += x[1]
    return x + part[0, 0]


def with_lambdas(x):
    for helper in HELPERS:
        helper((1,))
    return x


def with_map(x):
    return x * len(list(map(LIST.append, [1, 2])))


def with_loop(x):
    for k, _ in zip(COUNTS, range(2), strict=False):
        x = x + k
    return x


def with_exec(x):
    return TEXTLESS["f"](x)


TEXTLESS = {"LIST": LIST}
exec("def f(x):\n    LIST.append(1)\n    return x + len(LIST)", TEXTLESS)


CHANGING = {
    "reads before": reads_then_writes,
    "attribute": first,
    "entry": previous,
    "view": through_views,
    "property": lambda x: x * COUNTED.counted,
    "operator": lambda x: (COUNTED + 1) * x,
    "functions in a tuple": with_lambdas,
    "map": with_map,
    "out": lambda x: np.add(x, 1, out=W),
    "out by position": lambda x: np.add(x, 2, W),
    "ufunc.at": lambda x: (np.add.at(W, [0], 1), x)[1],
    "copyto": lambda x: (np.copyto(W, x), x)[1],
}
REFUSED = {
    "generator": (lambda x: x + next(NUMBERS), "takes from an iterator"),
    "count": (lambda x: x + next(COUNTS), "takes from an iterator"),
    "loop": (
        lambda x: [x + k for k, _ in zip(COUNTS, range(2), strict=False)][1],
        "takes from a count",
    ),
    "text is not known": (with_exec, "has code without text"),
    "objects": (lambda x: x * np.float64(OBJECTS[0]), "of dtype object"),
}
OBJECTS = np.array([1.0, None], object)


def seen_outside():
    """What lives outside the functions, as text."""
    held = {**vars(COUNTED), "w": None}
    return repr((W, SECOND, STATE, held, len(LIST), COUNTS, NUMBERS.gi_frame.f_locals))


def set_outside():
    """Set what lives outside the functions to known values."""
    W[...], SECOND[...] = 50, 1
    STATE["prev"], COUNTED.first = None, True
    COUNTED.known.clear()
    LIST.clear()


@pytest.mark.parametrize("name", CHANGING)
def test_what_changes_something_is_compiled(name):
    function, seen = CHANGING[name], []
    for run in (function, axiomjit.jit(function, strict=True)):
        set_outside()
        before = seen_outside()
        seen.append([(np.array(run(x)), seen_outside()) for x in (X, X + 1, X)])
        assert seen_outside() != before
    for want, got in zip(*seen, strict=True):
        np.testing.assert_array_equal(got[0], want[0])
        assert got[1] == want[1]


class Counter:
    def __init__(self):
        self.count = 0

    def step(self, x):
        self.count += 1
        return x * self.count


METHODS = []


def test_bound_methods_from_outside_change_the_object_of_each_call():
    def function(x):
        METHODS[0](1)
        METHODS[1](7.0)
        return METHODS[2](x)

    f = axiomjit.jit(function, strict=True)
    for _ in range(2):
        kept, array, counter = [], np.zeros(3), Counter()
        METHODS[:] = kept.append, array.fill, counter.step
        for k in (1, 2):
            np.testing.assert_array_equal(f(X), X * k)
            assert (kept, counter.count) == ([1] * k, k)
            assert (array == 7).all()


@pytest.mark.parametrize("name", REFUSED)
def test_what_changes_something_in_unknown_ways_runs_in_numpy(name):
    function, said = REFUSED[name]
    f = axiomjit.jit(function)
    with pytest.raises(NeedsValuesError, match=said):
        axiomjit.jit(function, strict=True)(X)
    state = seen_outside()
    with pytest.warns(FallbackWarning, match=said):
        f(X)
    f(X)
    assert "in NumPy" in repr(f)
    assert (seen_outside() == state) is (name == "objects")


def own_containers(x):
    seen, table = [W], dict.fromkeys("ab", 0)
    seen.append(x)
    table["a"] = len(seen)
    part = list(STATE)
    part += ["c"]
    total = W[1:].copy()
    total *= 2
    here = Counted.__new__(Counted)
    here.w = x
    count = 0

    def step():
        nonlocal count
        count += table["a"]
        return count

    return x + sum(map(len, part)) + total[0] + here.w + step() + step()


def only_looks(x, verbose=False):
    if verbose:
        print("never")
    if STATE is None:
        STATE["no"] = 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w = np.asarray(W)[1:] * 2
    acc = 0
    for row in SECOND:
        acc += row.sum()
    return x * acc + w[0] + COUNTED(x)


def writes_arguments(x):
    view = x[1:]
    view[...] = 3
    np.add(x, 1, out=x)
    x += W
    return x


@pytest.mark.parametrize("function", [own_containers, only_looks, writes_arguments])
def test_what_changes_its_own_things_is_compiled(function):
    f = axiomjit.jit(function, strict=True)
    for k in range(2):
        np.testing.assert_allclose(f(X + k), function(X + k))
    assert f.cache_info().traced == 1


def test_functions_that_reach_a_library_are_followed_at_once():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": X})

    def function(x):
        return x * len(frame.columns) if pandas is not None else frame

    started = time.thread_time()
    axiomjit.jit(function).lower(X)
    assert time.thread_time() - started < 1


def test_class_attributes_and_namespaces_are_looked_at_before_each_call():
    class Model:
        scale = 2.0
        w = np.ones(5)

        def __init__(self):
            self.inner = types.SimpleNamespace(w=np.ones(5), k=1.0)

        @axiomjit.jit
        def apply(self, x):
            return x * self.scale * self.w + x * self.inner.w * self.inner.k

    model = Model()
    changes = [
        lambda: setattr(Model, "scale", 5.0),
        lambda: setattr(Model, "w", np.zeros(5)),
        lambda: setattr(model.inner, "w", np.full(5, 7.0)),
        lambda: model.inner.w.fill(3.0),
        lambda: setattr(model.inner, "k", 2.0),
    ]
    for change in changes:
        for _ in range(2):
            np.testing.assert_array_equal(model.apply(X), Model.apply.__wrapped__(model, X))
        change()
    np.testing.assert_array_equal(model.apply(X), Model.apply.__wrapped__(model, X))


def test_methods_that_are_replaced_on_a_class_are_seen():
    class Model:
        act = staticmethod(np.sin)

        def part(self, x):
            return x + 1

        @property
        def scale(self):
            return 2.0

        @classmethod
        def shift(cls):
            return 1.0

        @axiomjit.jit(strict=True)
        def apply(self, x):
            return self.act(self.part(x)) * self.scale + self.shift()

    model = Model()
    changes = {
        "act": staticmethod(np.cos),
        "part": lambda self, x: x * 3,
        "scale": property(lambda self: 5.0),
        "shift": classmethod(lambda cls: 7.0),
    }
    for name, new in changes.items():
        for _ in range(2):
            np.testing.assert_allclose(model.apply(X), Model.apply.__wrapped__(model, X))
        setattr(Model, name, new)
    np.testing.assert_allclose(model.apply(X), Model.apply.__wrapped__(model, X))
    assert Model.apply.cache_info().traced == 5


def test_another_thread_loses_nothing_while_functions_are_followed(capsys, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "check", False)  # it would see what the thread changes
    shared, listed, drawn = np.zeros(3), [], []
    generator = np.random.RandomState(4)
    done = threading.Event()

    def works():
        while not done.is_set():
            shared[...] += 1
            listed.append(None)
            drawn.append(generator.random_sample())
            print("theirs")

    thread = threading.Thread(target=works)
    thread.start()
    try:
        for k in range(60):
            axiomjit.jit(lambda x, k=k: x + shared[0] * k).lower(X)
            axiomjit.jit(lambda x: x * generator.random_sample(5)).lower(X)
    finally:
        done.set()
        thread.join()
    assert (shared == len(listed)).all()
    assert drawn == list(np.random.RandomState(4).random_sample(len(drawn)))
    assert capsys.readouterr().out == "theirs\n" * len(drawn)
