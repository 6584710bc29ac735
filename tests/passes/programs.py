"""Random programs over what is compiled: steps drawn with example values at hand.

Values are small dyadic rationals, inf and NaN; a sum is drawn only over values that add up
exactly in any order, max and min only where no zero is negative. So every result is determined
bit for bit, whatever the order of additions.
"""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from tests.graphs import quiet

UNARY = {
    "negative": np.negative,
    "absolute": np.absolute,
    "sqrt": np.sqrt,
    "square": lambda x: x**2,
    "single": lambda x: x.astype(np.float32),
    "double": lambda x: x.astype(np.float64),
    "copy": np.copy,
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "fmod": np.fmod,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


def folding_of(function):
    """A fold whose second operand, where there is one, is its mask."""
    return lambda x, *mask, **options: function(
        x, **options, **({"where": mask[0]} if mask else {})
    )


MASKED = ("sum", "prod", "mean", "max", "min", "any", "all")
FOLDS = {name: folding_of(getattr(np, name)) for name in MASKED}
FOLDS |= {"count_nonzero": np.count_nonzero, "ptp": np.ptp}
SHAPERS = {
    "transpose": np.transpose,
    "index": lambda x, key: x[key],
    "reshape": np.reshape,
    "ravel": np.ravel,
    "swapaxes": np.swapaxes,
    "moveaxis": np.moveaxis,
    "squeeze": np.squeeze,
    "expand_dims": np.expand_dims,
    "diagonal": np.diagonal,
    "flip": np.flip,
    "rot90": np.rot90,
    "broadcast_to": np.broadcast_to,
}
OTHER = {"where": np.where, "dot": np.dot, "matmul": np.matmul}
NUMBERS = (2.0, -0.5, 3, 0.0, -1, np.float32(0.25), np.float64(-2.0), np.inf)
ELEMENTS = (0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 3.0, -4.0, 7.0, -0.25)
SPECIAL = (np.nan, np.inf, -np.inf, -0.0)


class Step(NamedTuple):
    """One operation on earlier values (numbered) or on numbers (as they are)."""

    operation: str
    operands: tuple
    options: tuple = ()


class Drawn(NamedTuple):
    """A program, the arguments it was drawn with, and how each was laid out."""

    steps: tuple
    outputs: tuple
    arguments: tuple

    def __call__(self, *arguments):
        values = list(arguments)
        for step in self.steps:
            values.append(perform(step, values))
        return tuple(values[k] for k in self.outputs)

    def function(self):
        """The program as a function with as many parameters as arguments."""
        names = ", ".join(f"x{k}" for k in range(len(self.arguments)))
        return eval(f"lambda {names}: call({names})", {"call": self})


class At(int):
    """The number of a value."""


def perform(step, values):
    """The value of a step; values may be arrays or stand for them."""
    operands = [values[o] if isinstance(o, At) else o for o in step.operands]
    for table in (UNARY, BINARY, FOLDS, SHAPERS, OTHER):
        if step.operation in table:
            return table[step.operation](*operands, **dict(step.options))
    raise KeyError(step.operation)


def adds_up(value) -> bool:
    """Whether sums of these elements are exact in any order, zeros positive."""
    if value.dtype.kind in "bi":
        return True
    rest = value[np.isfinite(value)]
    large = 2.0**14 if value.dtype == np.float32 else 2.0**40
    whole = np.all(rest * 64 == np.round(rest * 64)) and np.abs(rest).sum() * 64 < large
    return bool(whole and not has_negative_zero(value))


def multiplies(value) -> bool:
    """Whether products of these elements are exact in any order."""
    if value.dtype.kind in "bi":
        return True
    if not np.all(np.isfinite(value)):
        return False
    mantissas, exponents = np.frexp(value[value != 0].astype("f8"))
    wholes = [int(abs(m) * 2**53) for m in mantissas]
    bits = sum((w // (w & -w)).bit_length() for w in wholes)
    return bool(bits <= (24 if value.dtype == np.float32 else 53) and abs(exponents).sum() < 100)


def has_negative_zero(value) -> bool:
    """Whether a zero is negative."""
    return value.dtype.kind == "f" and bool(np.any((value == 0) & np.signbit(value)))


def layout(array, kind):
    """The same elements in another memory order."""
    if kind == "F":
        return np.asfortranarray(array)
    if kind == "spread":
        wide = np.zeros([2 * n for n in array.shape], array.dtype)
        wide[tuple(slice(None, None, 2) for _ in array.shape)] = array
        return wide[tuple(slice(None, None, 2) for _ in array.shape)]
    if kind == "backward":
        back = tuple(slice(None, None, -1) for _ in array.shape)
        return np.ascontiguousarray(array[back])[back]
    if kind == "constant" and array.ndim:
        return np.broadcast_to(array[:1] if len(array) else array, array.shape)
    return np.ascontiguousarray(array)


LAYOUTS = ("C", "C", "F", "spread", "backward", "constant")


@st.composite
def arrays(draw, lengths):
    """An array whose lengths come from a pool."""
    shape = draw(st.lists(st.sampled_from(lengths), max_size=3))
    dtype = draw(st.sampled_from(["f8", "f8", "f8", "f4", "i8", "?"]))
    seed = draw(st.integers(0, 2**16))
    special = draw(st.booleans())
    rng = np.random.default_rng(seed)
    values = rng.choice(ELEMENTS, shape)
    if special and dtype[0] == "f":
        values = np.where(rng.random(shape) < 0.1, rng.choice(SPECIAL, shape), values)
    return layout(np.asarray(values).astype(dtype), draw(st.sampled_from(LAYOUTS)))


@st.composite
def slices(draw, length):
    """A slice, or an index where there is one."""
    if length and draw(st.integers(0, 5)) == 0:
        return draw(st.integers(-length, length - 1))
    bound = st.none() | st.integers(-length - 2, length + 2)
    step = draw(st.sampled_from([None, None, 1, 2, 3, -1, -2]))
    return slice(draw(bound), draw(bound), step)


@st.composite
def shapes_of(draw, size):
    """A shape of so many elements, one length perhaps left out."""
    shape, rest = [], size
    for _ in range(draw(st.integers(0, 3))):
        divisors = [n for n in range(1, rest + 1) if rest % n == 0] or [0, 2]
        shape.append(draw(st.sampled_from(divisors)))
        rest = rest // shape[-1] if shape[-1] else rest
    shape.insert(draw(st.integers(0, len(shape))), rest)
    at = draw(st.integers(0, 2 * len(shape)))
    if at < len(shape) and 0 not in [*shape[:at], *shape[at + 1 :]]:
        shape[at] = -1
    return tuple(shape)


@st.composite
def viewing(draw, value):
    """The name and the options of a function that looks at a value in another way."""
    rank = value.ndim
    names = ["reshape", "reshape", "ravel", "squeeze", "expand_dims", "flip", "broadcast_to"]
    names += ["swapaxes", "moveaxis"] if rank else []
    names += ["diagonal", "rot90"] if rank >= 2 else []
    name = draw(st.sampled_from(names))
    axis = st.integers(-rank, rank - 1)
    match name:
        case "reshape":
            return name, {"shape": draw(shapes_of(value.size))}
        case "ravel":
            return name, {}
        case "swapaxes":
            return name, {"axis1": draw(axis), "axis2": draw(axis)}
        case "moveaxis":
            return name, {"source": draw(axis), "destination": draw(axis)}
        case "squeeze":
            ones = tuple(d for d, n in enumerate(value.shape) if n == 1)
            return name, {"axis": draw(st.sampled_from([None, ones[:1], ones]))}
        case "expand_dims":
            return name, {"axis": draw(st.integers(-rank - 1, rank))}
        case "flip":
            return name, {"axis": draw(st.none() | axis) if rank else None}
        case "broadcast_to":
            front = draw(st.lists(st.sampled_from([1, 2, 3]), max_size=1))
            wide = draw(st.sampled_from([1, 2, 5]))
            return name, {"shape": (*front, *(wide if n == 1 else n for n in value.shape))}
    first, second = draw(st.permutations(range(rank)))[:2]
    if name == "rot90":
        return name, {"k": draw(st.integers(-1, 4)), "axes": (first, second)}
    return name, {"offset": draw(st.integers(-2, 2)), "axis1": first, "axis2": second}


@st.composite
def shaper(draw, values, k):
    """A step that only looks at a value in another way."""
    value = np.asarray(values[k])
    kind = draw(st.sampled_from(["transpose", "index", "index", "view", "view", "view"]))
    if kind == "view":
        name, options = draw(viewing(value))
        return Step(name, (At(k),), tuple(options.items()))
    if kind == "transpose":
        order = tuple(draw(st.permutations(range(value.ndim))))
        return Step("transpose", (At(k),), (("axes", order),))
    key = [draw(slices(n)) for n in value.shape]
    if draw(st.integers(0, 3)) == 0:
        key.insert(draw(st.integers(0, len(key))), None)
    return Step("index", (At(k),), (("key", tuple(key)),))


def stretches(mask, value):
    """Whether an array is a mask of the shape of another."""
    if mask.dtype != bool or mask.ndim > value.ndim:
        return False
    pairs = zip(mask.shape[::-1], value.shape[::-1], strict=False)
    return all(m in (1, n) for m, n in pairs)


@st.composite
def folding(draw, values, k):
    """A fold over some dimensions."""
    value = np.asarray(values[k])
    rank = value.ndim
    axes = draw(st.sets(st.integers(0, rank - 1), min_size=1)) if rank else None
    axis = None if draw(st.booleans()) else axes and tuple(sorted(axes))
    name = draw(st.sampled_from(list(FOLDS)))
    options = {"axis": axis, "keepdims": draw(st.booleans())}
    masks = [m for m in range(len(values)) if stretches(np.asarray(values[m]), value)]
    mask = (At(draw(st.sampled_from(masks))),) if masks and draw(st.booleans()) else ()
    mask = mask if name in MASKED else ()
    if name in ("sum", "prod", "mean"):
        options["dtype"] = draw(st.sampled_from([None, None, "f8", "f4", "i8"]))
    if name in ("sum", "prod") and draw(st.booleans()):
        options["initial"] = draw(st.sampled_from([2.0, -1, 0.5, np.float32(4)]))
    if name in ("max", "min") and (mask or draw(st.booleans())):
        options["initial"] = draw(st.sampled_from([2.0, -3, np.inf if name == "min" else -np.inf]))
    return Step(name, (At(k), *mask), tuple(options.items()))


def folds(made: Step, value) -> bool:
    """Whether a fold of a value has one result, bit for bit."""
    options = dict(made.options)
    initial, dtype = options.get("initial"), options.get("dtype")
    if made.operation in ("max", "min", "ptp"):
        if has_negative_zero(value) or (made.operation == "ptp" and value.dtype == bool):
            return False
        if value.dtype.kind != "f" and initial is not None and not np.isfinite(initial):
            return False
        return initial is not None or 0 not in value.shape
    if dtype is not None:
        if dtype == "i8" and (made.operation == "mean" or not np.all(abs(value * 1.0) < 2**30)):
            return False
        value = value.astype(dtype)
    if made.operation == "prod":
        return multiplies(value)
    return made.operation not in ("sum", "mean") or adds_up(value)


@st.composite
def step(draw, values):
    """Any step; it may not fit."""
    which = st.integers(0, len(values) - 1).map(At)
    kind = draw(st.sampled_from(["unary", "binary", "binary", "fold", "fold", "shape", "other"]))
    if kind == "unary":
        return Step(draw(st.sampled_from(list(UNARY))), (draw(which),))
    if kind == "binary":
        pair = (draw(which), draw(which | st.sampled_from(NUMBERS)))
        return Step(draw(st.sampled_from(list(BINARY))), pair[:: draw(st.sampled_from([1, -1]))])
    if kind == "fold":
        return draw(folding(values, draw(which)))
    if kind == "shape":
        return draw(shaper(values, draw(which)))
    name = draw(st.sampled_from(["where", "where", "dot", "matmul"]))
    count = 3 if name == "where" else 2
    return Step(name, tuple(draw(which) for _ in range(count)))


def fits(made: Step, values) -> bool:
    """Whether a step is compiled for these values and has one meaning, bit for bit."""
    operands = [np.asarray(values[o] if isinstance(o, At) else o) for o in made.operands]
    kinds = [operand.dtype.kind for operand in operands]
    name = made.operation
    if name in ("index", "single", "double") and isinstance(values[made.operands[0]], int | float):
        return False
    if name in ("add", "subtract", "multiply", "divide", "square", "negative", "absolute", "sqrt"):
        if set(kinds) == {"b"}:
            return False
        if name == "square" and kinds[0] != "f":
            return False
    if name in ("less", "less_equal", "greater", "greater_equal") and set(kinds) == {"b"}:
        return False
    if name in ("maximum", "minimum") and any(map(has_negative_zero, operands)):
        return False
    if name in FOLDS and not folds(made, operands[0]):
        return False
    if name == "where" and kinds[0] != "b":
        return False
    if name in ("dot", "matmul"):
        if any(not 1 <= operand.ndim <= 2 for operand in operands) or "b" in kinds:
            return False
        if not all(adds_up(o) and np.all(np.isfinite(o)) for o in operands):
            return False
        if operands[0].shape[-1] != operands[1].shape[max(operands[1].ndim - 2, 0)]:
            return False
    try:
        np.broadcast_shapes(*[o.shape for o in operands]) if name in (*BINARY, "where") else None
    except ValueError:
        return False
    return True


@st.composite
def programs(draw, most_steps=8):
    """A program with its arguments."""
    pool = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 6, 7]), min_size=2, max_size=3))
    pool = [*pool, 1] if draw(st.booleans()) else pool
    count = draw(st.integers(1, 3))
    arguments = tuple(draw(arrays(pool)) for _ in range(count))
    if draw(st.integers(0, 4)) == 0:
        arguments += (draw(st.sampled_from([2.5, -3, 0.0])),)
    values = list(arguments)
    steps = []
    with quiet():
        for _ in range(draw(st.integers(1, most_steps))):
            made = draw(step(values))
            if not fits(made, values):
                continue
            value = perform(made, values)
            dtype = np.asarray(value).dtype
            # BLAS starts some products at -0.0 and some at 0.0.
            if made.operation in ("dot", "matmul") and has_negative_zero(np.asarray(value)):
                continue
            if np.size(value) > 700 or np.ndim(value) > 4 or dtype not in (bool, "i8", "f4", "f8"):
                continue
            steps.append(made)
            values.append(value)
    made_here = range(len(arguments), len(values))
    last = len(values) - 1
    others = draw(st.lists(st.sampled_from(made_here), max_size=3)) if steps else []
    outputs = tuple(dict.fromkeys([last, *others]))
    return Drawn(tuple(steps), outputs, arguments)
