"""What a step may be: each function draws one for the values at hand, or None where none fits.

Elementwise steps come from the rows of the NumPy table, so that a new row is drawn as it is.
"""

import numpy as np

from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.shape_ops import MARGINS_BY_MODE
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.numpy_rules.reductions import METHODS as REDUCTION_METHODS
from tests.generator.programs import At, Step

CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16")
WEAK = (2, 3, 0, -1, 1, 7, 2.0, -0.5, 0.0, 1.5, True, 2j, 1 - 1j)
STRONG = (np.float32(0.25), np.float64(-2.0), np.int8(3), np.uint16(5), np.complex64(1j))
ODD = (np.inf, -np.inf, np.nan, -0.0, 100, -129, 255, 2**31, 2**63 - 1, np.bool_(True))
SIGNS = {row.name: row.sign for row in PRIMITIVES.values() if row.sign and row.arity == 2}
SIGNS_BEFORE = {row.name: row.sign for row in PRIMITIVES.values() if row.sign and row.arity == 1}
ELEMENTWISE = [ufunc for ufunc in UFUNCS if ufunc.signature is None]
NAMES = {ufunc: "clip" if ufunc.nin == 3 else ufunc.__name__ for ufunc in ELEMENTWISE}


class Values:
    """The values so far, and how to choose among them."""

    def __init__(self, d, values):
        self.d = d
        self.values = values
        self.arrays = [np.asarray(value) for value in values]

    def add(self, value):
        """Another value."""
        self.values.append(value)
        self.arrays.append(np.asarray(value))

    def any(self):
        """A value, later ones more often."""
        count = len(self.values)
        k = max(self.d.below(count), self.d.below(count))
        if self.arrays[k].dtype.kind == "b" and self.d.chance(0.5):
            k = self.d.below(count)
        return At(k)

    def among(self, fits):
        """A value that fits, or None."""
        found = [k for k, array in enumerate(self.arrays) if fits(array)]
        return At(self.d.pick(found)) if found else None

    def beside(self, *shapes):
        """A value that broadcasts with such shapes, or a number."""
        if self.d.chance(0.2):
            return literal(self.d)

        def broadcasts(array):
            try:
                np.broadcast_shapes(array.shape, *shapes)
            except ValueError:
                return False
            return True

        found = self.among(broadcasts)
        return literal(self.d) if found is None else found


def literal(d):
    """A number as it stands in source."""
    return d.pick(d.pick((WEAK, WEAK, WEAK, STRONG, ODD)))


def elementwise(d, values):
    """A ufunc of the table, called or as an operator."""
    ufunc = d.pick(ELEMENTWISE)
    name = NAMES[ufunc]
    if name == "power":
        return power(d, values)
    first = values.any()
    operands = [first]
    for _ in range(ufunc.nin - 1):
        shapes = [values.arrays[o].shape for o in operands if isinstance(o, At)]
        operands.append(values.beside(*shapes))
    if ufunc.nin == 2:
        operands = d.order(operands)
    if name in SIGNS and d.chance(0.6):
        form = f"({{0}} {SIGNS[name]} {{1}})"
    elif name in SIGNS_BEFORE and d.chance(0.6):
        form = f"({SIGNS_BEFORE[name]}{{0}})"
    elif ufunc.nout > 1:
        form = f"np.{name}({{many}})[{d.below(ufunc.nout)}]"
    else:
        form = f"np.{name}({{many}})"
    return Step(name, form, tuple(operands))


def power(d, values):
    """A power: of integers with exponents that are known, of floats with whole exponents."""
    base = values.any()
    if d.chance(0.3):
        exponent = values.beside(values.arrays[base].shape)
        if isinstance(exponent, At) and values.arrays[exponent].dtype.kind in "biu":
            return None
        return Step("power", "np.power({0}, {1})", (base, exponent))
    if values.arrays[base].dtype.kind == "b":
        return None  # row "x ** 2 of bools"
    return Step("power", "({0} ** {1})", (base, d.pick((0, 1, 2, 2, 3, 4, 5, 2.0, 0.5, -1))))


def masked(d, values):
    """np.where and np.clip with one bound."""
    if d.chance(0.25):
        name = d.pick(("min", "max"))
        first = values.any()
        bound = values.beside(values.arrays[first].shape)
        return Step("clip", "np.clip({0}{options})", (first,), ((name, bound),))
    mask = values.among(lambda a: a.dtype.kind == "b") if d.chance(0.8) else None
    mask = values.any() if mask is None else mask
    shapes = [values.arrays[mask].shape]
    first = values.beside(*shapes)
    shapes += [values.arrays[first].shape] if isinstance(first, At) else []
    return Step("where", "np.where({many})", (mask, first, values.beside(*shapes)))


def cast(d, values):
    """Another dtype, a copy, a part."""
    k = values.any()
    if d.chance(0.6):
        code = d.pick(CODES)
        if d.chance(0.1):
            return Step("astype", "{0}.astype({1}, copy=False)", (k, code))
        return Step("astype", "{0}.astype({1})", (k, code))
    name, form = d.pick(
        (
            ("copy", "np.copy({0})"),
            ("copy", "{0}.copy()"),
            ("conj", "{0}.conj()"),
            ("conj", "{0}.conjugate()"),
            ("real", "{0}.real"),
            ("imag", "{0}.imag"),
            ("real", "np.real({0})"),
            ("imag", "np.imag({0})"),
            ("clip", "{0}.clip(-1, 2)"),
        )
    )
    return Step(name, form, (k,))


MASKED = ("sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all")
WITH_DTYPE = ("sum", "prod", "mean", "var", "std")
NAMED = [function.__name__ for function in REDUCTIONS if function is not np.trace]
BY_UFUNC = {
    **{"sum": "add", "prod": "multiply", "max": "maximum", "min": "minimum"},
    **{"any": "logical_or", "all": "logical_and"},
}


def axes_of(d, rank):
    """An `axis` argument for a fold."""
    if rank == 0 or d.chance(0.25):
        return None
    axes = d.some(range(rank))
    if len(axes) == 1 and d.chance(0.8):
        return d.pick((axes[0], axes[0] - rank))
    return tuple(d.order(axes))


def reduction(d, values):
    """A fold with some of its options."""
    name, k = d.pick(NAMED), values.any()
    array = values.arrays[k]
    options = {"axis": axes_of(d, array.ndim)}
    if d.chance(0.4):
        options["keepdims"] = True
    if name in WITH_DTYPE and d.chance(0.3):
        options["dtype"] = fold_dtype(d, name, array.dtype)
    if name in MASKED and d.chance(0.25):
        mask = values.among(lambda a: a.dtype.kind == "b" and stretches(a.shape, array.shape))
        if mask is not None:
            options["where"] = mask
    extreme = name in ("max", "min", "amax", "amin")
    if name in MASKED[:7] and name != "mean":
        wanted = extreme and ("where" in options or array.size == 0)
        if wanted or d.chance(0.2):
            options["initial"] = d.pick((2, -3, 2.0, 0.5, np.float32(4), 1, 0))
    if name in ("var", "std") and d.chance(0.3):
        options[d.pick(("ddof", "correction"))] = d.between(0, 2)
    if options["axis"] is None and d.chance(0.5):
        del options["axis"]
    form = f"np.{name}({{0}}{{options}})"
    if name in REDUCTION_METHODS and d.chance(0.4):
        form = f"{{0}}.{name}({{bare}})"
    elif name in BY_UFUNC and "axis" in options and d.chance(0.2):
        form = f"np.{BY_UFUNC[name]}.reduce({{0}}{{options}})"
    return Step(name, form, (k,), tuple(options.items()))


def fold_dtype(d, name, dtype):
    """A `dtype` of a fold: one whose sums have it, complex where the elements are."""
    if name in ("var", "std"):
        return d.pick(("c8", "c16") if dtype.kind == "c" else ("f4", "f8"))
    return d.pick([code for code in CODES[1:] if not (dtype.kind == "c" and code[0] != "c")])


def stretches(shape, other):
    """Whether an array of one shape stretches to another."""
    pairs = zip(shape[::-1], other[::-1], strict=False)
    return len(shape) <= len(other) and all(m in (1, n) for m, n in pairs)


def contraction(d, values):
    """dot, matmul, @, and the trace."""
    if d.chance(0.2):
        k = values.among(lambda a: a.ndim >= 2)
        if k is None:
            return None
        first, second = d.order(range(values.arrays[k].ndim))[:2]
        options = (("offset", d.between(-2, 2)), ("axis1", first), ("axis2", second))
        return Step("trace", "np.trace({0}{options})", (k,), options)
    left = values.among(lambda a: a.ndim >= 1)
    if left is None:
        return None
    length = values.arrays[left].shape[-1]
    right = values.among(lambda a: a.ndim >= 1 and a.shape[max(a.ndim - 2, 0)] == length)
    if right is None:
        return None
    flat = all(values.arrays[k].ndim <= 2 for k in (left, right))
    if flat and d.chance(0.6):
        return Step("matmul", d.pick(("np.matmul({many})", "({0} @ {1})")), (left, right))
    return Step("dot", d.pick(("np.dot({many})", "{0}.dot({1})")), (left, right))


def joined(d, values):
    """Arrays that follow each other."""
    name = d.pick(JOINS)
    k = values.any()
    array = values.arrays[k]
    if name == "roll":
        return rolled(d, k, array)
    if name == "pad":
        return padded(d, k, array)
    axis = d.below(array.ndim) if array.ndim else 0
    axis = {"vstack": 0, "hstack": min(1, array.ndim - 1), "dstack": 2}.get(name, axis)
    parts = [k]
    for _ in range(d.below(3)):
        parts.append(values.among(lambda a: joins(a, array, axis, name)))
    parts = d.order(part for part in parts if part is not None)
    if name == "append":
        options = (("axis", axis),) if array.ndim and d.chance(0.7) else ()
        return Step(name, "np.append({0}, {1}{options})", (parts[0], parts[-1]), options)
    options = {}
    if name in ("concatenate", "stack") and d.chance(0.8):
        options["axis"] = axis if d.chance(0.6) else axis - array.ndim - (name == "stack")
    if d.chance(0.2):
        common = np.result_type(*(values.arrays[part].dtype for part in parts))
        wide = [c for c in CODES if np.can_cast(common, c, "same_kind")]
        options["dtype"] = d.pick(wide)
    return Step(name, f"np.{name}(({{many}},){{options}})", tuple(parts), tuple(options.items()))


JOINS = (
    *("concatenate", "concatenate", "stack", "vstack", "hstack", "dstack", "column_stack"),
    *("append", "roll", "roll", "pad", "pad"),
)


def joins(a, array, axis, name):
    """Whether an array may stand beside another one."""
    if a.ndim != array.ndim:
        return False
    alike = a.shape == array.shape
    return alike or (
        name not in ("stack", "dstack", "column_stack")
        and all(
            n == m for d, (n, m) in enumerate(zip(a.shape, array.shape, strict=True)) if d != axis
        )
    )


def rolled(d, k, array):
    """np.roll."""
    if not array.ndim or d.chance(0.25):
        return Step("roll", "np.roll({0}{options})", (k,), (("shift", d.between(-9, 9)),))
    axes = tuple(d.some(range(array.ndim)))
    shifts = tuple(d.between(-4, 9) for _ in axes)
    if len(axes) == 1:
        axes, shifts = axes[0], shifts[0]
    return Step("roll", "np.roll({0}{options})", (k,), (("shift", shifts), ("axis", axes)))


def padded(d, k, array):
    """np.pad; margins that repeat elements stay within the array (they are refused beyond)."""
    mode = d.pick(["constant", *MARGINS_BY_MODE])
    most = {"reflect": 1, "edge": -9, "constant": -9}.get(mode, 0)
    widths = tuple(
        tuple(d.between(0, min(3, max(0, n - most))) for _ in range(2)) for n in array.shape
    )
    if mode in ("reflect", "symmetric", "wrap", "edge") and 0 in array.shape:
        mode = "constant"
    if mode == "constant" and array.shape and d.chance(0.3):
        widths = d.between(0, 2)
    options = {"pad_width": widths, "mode": mode}
    if not array.shape:
        options["pad_width"] = 1
    if mode == "constant" and d.chance(0.5):
        options["constant_values"] = d.pick((1, 0, 2.5, -1, (1, 2)))
    return Step("pad", "np.pad({0}{options})", (k,), tuple(options.items()))
