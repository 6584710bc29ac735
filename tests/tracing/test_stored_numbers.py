"""Numbers that are stored in elements: which of them NumPy casts, and which it refuses."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config

pytestmark = pytest.mark.filterwarnings("ignore")


def flat_item(x, v):
    x.flat[1] = v


def flat_items(x, v):
    x.flat[:2] = v


def item(x, v):
    x[1] = v


def item_at_the_end(x, v):
    x[-1] = v


def item_and_before(x, v):
    x[0] = 7
    x[1] = v


def part(x, v):
    x[1:3] = v


def everything(x, v):
    x[...] = v


def listed(x, v):
    x[:2] = [v, 1]


def listed_mask(x, v):
    x[x == 0] = [v]


def filled(x, v):
    x.fill(v)


def masked(x, v):
    x[x == 0] = v


def at_positions(x, v):
    x[np.array([0, 1])] = v


def put(x, v):
    np.put(x, [0, 1], v)


def put_method(x, v):
    x.put([0], v)


def put_mask(x, v):
    np.putmask(x, x == 0, v)


def along_axis(x, v):
    np.put_along_axis(x, np.array([0]), v, 0)


def copied(x, v):
    np.copyto(x, v, casting="unsafe")


def added_to_item(x, v):
    x[1] += v


def added_at(x, v):
    np.add.at(x, [0], v)


def row(x, v):
    x.reshape(2, 2)[0] = v


def element_of_matrix(x, v):
    y = x.reshape(2, 2)
    y[0, 1] = v


def new_array(x, v):
    return np.array(v, x.dtype)


def new_list(x, v):
    return np.array([v, 1], x.dtype)


def as_array(x, v):
    return np.asarray(v, dtype=x.dtype)


def full(x, v):
    return np.full(2, v, x.dtype)


def full_like(x, v):
    return np.full_like(x, v)


def converted(x, v):
    return np.asarray(v).astype(x.dtype)


def into_new(x, v):
    y = np.zeros(3, x.dtype)
    y[0] = v
    return y


STORES = (
    *(item, item_at_the_end, item_and_before, part, everything, listed, listed_mask, filled),
    *(masked, at_positions, put, put_method, put_mask, along_axis, copied, added_to_item),
    *(added_at, row, element_of_matrix, flat_item, flat_items, new_array, new_list, as_array),
    *(full, full_like, converted, into_new),
)
DTYPES = ["i1", "i8", "u1", "b1"]
NUMBERS = (1e30, 300.7, -1.5, 2.5, float("nan"), float("inf"))
KINDS = {
    "python": float,
    "scalar": np.float64,
    "narrow": np.float32,
    "array": np.array,
    "one element": lambda number: np.array([number]),
}
WHOLE = (300, -1, 7, 2**63 - 1)
OTHERS = (1 + 1j, np.complex128(3 + 1j), np.array(3 + 1j), np.uint64(2**63 + 5), True)


def outcome(function, dtype, value):
    """What a function gives and leaves in an array, or the class of its error."""
    x = np.zeros(4, dtype)
    try:
        made = function(x, value)
    except Exception as error:
        made = type(error)
    if isinstance(made, np.ndarray | np.generic):
        made = made.dtype, made.tolist()
    return repr((made, x.tolist()))


def values():
    for kind, make in KINDS.items():
        yield from ((f"{kind} {number}", make(number)) for number in NUMBERS)
    yield from ((f"int {number}", number) for number in WHOLE)
    yield from ((f"int64 {number}", np.int64(number)) for number in WHOLE)
    yield from ((repr(one), one) for one in OTHERS)


@pytest.mark.parametrize("store", STORES, ids=lambda one: one.__name__)
def test_stores_are_those_of_numpy(store, in_numpy, monkeypatch):
    monkeypatch.setattr(config, "fallback", "allow")  # arrays in full_like
    compiled = axiomjit.jit(store)
    wrong = []
    for dtype in DTYPES:
        for name, value in values():
            wanted, found = (outcome(one, dtype, value) for one in (store, compiled))
            if wanted != found:
                wrong.append((dtype, name, wanted, found))
    assert not wrong


def computed(x, y):
    x[1] = y.sum()
    return x * 2


def computed_complex(x, y):
    x[1] = (y * 1j).sum() / 1j
    return x * 2


@pytest.mark.parametrize("store", [computed, computed_complex, item])
@pytest.mark.parametrize("number", [3.5, float("nan"), 1e30])
def test_compiled_stores_ask_for_the_range_of_each_value(store, number):
    def value(one):
        return one if store is item else np.array([one, 0.0])

    compiled = axiomjit.jit(store, strict=True)
    for one in (1.5, number, number, 2.5, number):
        wanted, found = (outcome(each, "i8", value(one)) for each in (store, compiled))
        assert wanted == found


NOTHING = """
b[:] = b
b[...] = b
b[0] = b[0]
b[1:] = b[1:]
b.T[...] = b.T
b[0:0] = 1
b[b > 99] = 1
b[False] = 1
b[np.array([], int)] = 1
b[np.array([], int)] = np.zeros((3, 0))
b.put([], 1)
np.put(b, [], [])
b.flat[0:0] = 1
b.flat[:] = b
b.fill(1)
b += 0
np.copyto(b, b)
np.copyto(b, 1, where=b > 99)
np.add(b, 1, out=b, where=b > 99)
np.add.at(b, np.array([], int), 1)
np.putmask(b, b > 99, 1)
np.multiply(b[:0], 1, out=b[:0])
"""


@pytest.mark.parametrize("statement", NOTHING.split("\n")[1:-1])
def test_writes_of_nothing_into_read_only_arrays(statement, in_numpy):
    space = {"np": np}
    exec(f"def function(b):\n    {statement}", space)  # noqa: S102
    compiled = axiomjit.jit(space["function"])
    for b in (np.arange(4.0), np.zeros(0), np.arange(4.0).reshape(2, 2)):
        for writeable in (True, False, True):
            b.flags.writeable = writeable
            found = []
            for function in (space["function"], compiled):
                try:
                    found.append(function(b))
                except (ValueError, IndexError) as error:
                    found.append(isinstance(error, IndexError))
            assert found[0] == found[1], (b.shape, writeable)


def copied_onto_itself(b):
    b[:] = b


def test_compiled_writes_of_nothing_look_at_the_flag():
    compiled, b = axiomjit.jit(copied_onto_itself), np.arange(4.0)
    for _ in range(3):
        compiled(b)
    b.flags.writeable = False
    for _ in range(2):
        with pytest.raises(ValueError, match="read-only"):
            compiled(b)


class Stepped:
    def __init__(self):
        self.steps, self.seen, self.u = 0, [], np.ones(5)

    def step(self, x):
        self.steps += 1
        self.seen.append((self.steps * x.shape[0], self.steps - 2))
        self.u = self.u + x
        return self.steps


def test_a_counter_that_no_array_depends_on_needs_one_plan():
    compiled, one, other = axiomjit.jit(Stepped.step, strict=True), Stepped(), Stepped()
    for number in range(12):
        x = np.arange(5.0) * number
        assert compiled(one, x) == Stepped.step(other, x)
        assert (one.steps, one.seen) == (other.steps, other.seen)
        np.testing.assert_array_equal(one.u, other.u)
    info = compiled.cache_info()
    assert (info.traced, info.bound) == (1, 1)
    one.steps = 2.5
    assert compiled(one, x) == 3.5
