"""Which steps have one result, bit for bit, for the operands at hand (design 4.7).

A program is drawn so that every step is determined: sums and products are exact in any order, and
where docs/differences.md lets us differ from NumPy, the operands are such that we do not.
"""

import numpy as np

from axiomjit.graph.primitives import PRIMITIVES
from tests.generator.folds import is_exact
from tests.generator.shapes import VIEWS
from tests.runtime.codegen.kernels import same_bits

BITS = {"f2": 11, "f4": 24, "f8": 53}
LARGEST = {"f2": 15, "f4": 127, "f8": 1023}
EITHER_ZERO = ("maximum", "minimum", "fmax", "fmin", "clip")


def parts(value):
    """The real arrays of which an array of floats or complex numbers consists."""
    return (value.real, value.imag) if value.dtype.kind == "c" else (value,)


def wholes(value):
    """Finite, nonzero elements as odd integers, and their exponents of two."""
    rest = value[np.isfinite(value) & (value != 0)].astype("f8")
    mantissas, exponents = np.frexp(rest)
    numbers = np.abs(mantissas * 2.0**53).astype("i8")
    low = numbers & -numbers
    return numbers // np.maximum(low, 1), exponents - 53 + np.frexp(low.astype("f8"))[1] - 1


def is_exact_total(numbers, exponents, code):
    """Whether all partial sums of integers times powers of two are numbers of a float dtype."""
    if not numbers.size:
        return True
    low = int(exponents.min())
    if int(exponents.max()) - low > 60:
        return False
    total = sum(int(n) << (int(e) - low) for n, e in zip(numbers, exponents, strict=True))
    return total.bit_length() <= BITS[code] and total.bit_length() + low <= LARGEST[code]


def adds_up(value):
    """Whether sums of these elements are exact in any order."""
    if value.dtype.kind in "biu":
        return True
    return all(is_exact_total(*wholes(part), part.dtype.str[1:]) for part in parts(value))


def multiplies(value):
    """Whether products of these elements are exact in any order."""
    if value.dtype.kind in "biu":
        return True
    if not np.all(np.isfinite(value)):
        return False
    if value.dtype.kind == "c":
        # products of whole numbers, of which no part rounds and no sum of parts is a zero's sign
        if np.any(value.real == 0) or np.any(value.imag == 0):
            return False
        sizes = np.abs(value.real).astype("f8") + np.abs(value.imag)
        whole = np.all(value == np.round(value))
        return bool(whole and np.prod(sizes) < 2.0 ** (BITS[value.real.dtype.str[1:]] - 1))
    code = value.dtype.str[1:]
    numbers, exponents = wholes(value)
    bits = sum(int(n).bit_length() for n in numbers)
    reach = bits + int(np.abs(exponents).sum())
    return bits <= BITS[code] and reach < LARGEST[code] - 1


def has_both_zeros(*values):
    """Whether zeros of either sign meet, of which maximum and minimum may take either."""
    floats = [value for value in values if value.dtype.kind == "f"]
    zeros = [np.signbit(value[value == 0]) for value in floats]
    signs = [bool(sign) for zero in zeros for sign in np.unique(zero)]
    others = any(value.dtype.kind in "biu" and np.any(value == 0) for value in values)
    return True in signs and (False in signs or others)


def fits_integers(value, dtype):
    """Whether the cast of floats to uint32 does not depend on their place in the array."""
    if np.dtype(dtype) != np.uint32 or value.dtype.kind not in "fc":
        return True
    whole = np.trunc(value.real.astype("f8"))
    return bool(np.all((whole >= 0) & (whole < 2.0**32)))


def _extreme(step, operands, result):
    """Rows "maximum, minimum, ... of 0.0 and -0.0" and "max, min, ptp of complex numbers"."""
    options = dict(step.options)
    others = [np.asarray(options[k]) for k in ("initial", "min", "max") if k in options]
    folds = step.name not in EITHER_ZERO
    first = operands[0]
    several = first.dtype.kind == "c" and (
        np.count_nonzero(np.isnan(first)) > 1 or any(map(has_both_zeros, parts(first)))
    )
    return not has_both_zeros(*operands, *others) and not (folds and several)


def _folded(step, operands):
    """What a fold folds, in its dtype, and its initial value."""
    options = dict(step.options)
    value, dtype = operands[0], options.get("dtype")
    if dtype is None and value.dtype.kind in "biu" and step.name.endswith(("mean", "var", "std")):
        dtype = "f8"
    if dtype is not None:
        if not fits_integers(value, dtype):
            return None
        value = value.astype(dtype)
    initial = options.get("initial")
    return value if initial is None else np.append(value, value.dtype.type(initial))


def _sum(step, operands, result):
    value = _folded(step, operands)
    return value is not None and adds_up(value)


def _mean(step, operands, result):
    value = _folded(step, operands)
    if value is None:
        return False
    if result.dtype == np.uint32:  # Row "float to uint32 where the value does not fit".
        options = {name: option for name, option in step.options if name != "dtype"}
        if np.any(np.isnan(operands[0].mean(**options))):
            return False
    return adds_up(value)  # integers are summed as float64 where no dtype is given


def _prod(step, operands, result):
    value = _folded(step, operands)
    return value is not None and multiplies(value)


def _spread(step, operands, result):
    """Row "var, std of float16", and exact sums of the elements and of their squares.

    Blocks of a power of two have exact means as well.
    """
    value, own = _folded(step, operands), operands[0]
    count = own.size // max(1, result.size)
    if own.dtype == np.float16 or (count > SMALL_BLOCK and count & (count - 1)):
        return False
    axis = dict(step.options).get("axis")
    apart = own - value.mean(axis=axis, keepdims=True)
    squares = apart * apart if apart.dtype.kind != "c" else apart.real**2 + apart.imag**2
    return adds_up(value) and adds_up(squares.astype(value.real.dtype))


def _by_spec(step, operands, result):
    """Sums of elements, or of products of two operands."""
    if len(operands) == 1:
        return adds_up(operands[0])
    return _contracted(step, operands, result, operands[0].size * operands[1].size)


def _contracted(step, operands, result, most=None):
    """Products and sums exact; BLAS starts some sums at -0.0 and some at 0.0."""
    if any(not np.all(np.isfinite(o)) for o in operands):
        return False
    code = np.result_type(*operands)
    if code.kind in "biu":
        return True
    left, right = (o.astype(code) for o in operands)
    signs = any(np.any(np.signbit(p)) for o in (left, right) for p in parts(o))
    if signs and any(np.any(p == 0) for p in parts(result)):
        return False
    numbers = [wholes(np.concatenate([p.ravel() for p in parts(o)])) for o in (left, right)]
    if not all(n.size for n, _ in numbers):
        return True
    low = sum(int(e.min()) for _, e in numbers)
    largest = [float(np.abs(p).max(initial=0)) for o in (left, right) for p in parts(o)]
    count = 2 * (max(left.shape[-1:] or (1,)) if most is None else most)
    total = 2 * np.log2(max(largest)) + np.log2(count)
    real = parts(left)[0].dtype.str[1:]
    return bool(total - low < BITS[real] and total < LARGEST[real] - 1)


def _power(step, operands, result):
    """Rows "other powers" and "x ** 2, ... with a literal exponent": only exact ones."""
    if result.dtype.kind in "biu":
        return True
    base, exponent = (np.asarray(o) for o in operands)
    if result.dtype.kind == "c" or not np.all(np.isfinite(base)) or not np.all(base != 0):
        return False
    if np.any(exponent != np.round(exponent)) or np.any(exponent < 0) or np.any(exponent > 8):
        return False
    numbers, _ = wholes(np.asarray(base, "f8"))
    most = int(numbers.max(initial=1)).bit_length() * int(exponent.max(initial=0))
    reach = np.log2(np.abs(base.astype("f8")).max(initial=1)) * exponent.max(initial=0)
    low = np.log2(np.abs(base.astype("f8")).min(initial=1)) * exponent.max(initial=0)
    code = result.dtype.str[1:]
    return most <= BITS[code] and reach < LARGEST[code] - 1 and low > 1 - LARGEST[code]


def _cast(step, operands, result):
    """Row "float to uint32 where the value does not fit"."""
    return fits_integers(operands[0], result.dtype)


def _sign_of_nan(step, operands, result):
    """The sign of a NaN is open."""
    return not any(np.any(np.isnan(operand)) for operand in operands[-1:])


def _absolute(step, operands, result):
    """Row "absolute of complex arrays": only where NumPy's two formulas agree."""
    value = operands[0]
    if value.dtype.kind != "c":
        return True
    row = np.tile(np.ravel(value), 2)
    return same_bits(np.abs(row), np.abs(row[::-1])[::-1])


def _as_arrays(step, operands, result):
    """Row "last bits of complex multiply ...": NumPy computes numbers and some layouts without."""
    if result.dtype.kind != "c":
        return True
    shape, native = result.shape, result.dtype.newbyteorder("=")
    rows = [np.ravel(np.broadcast_to(one, shape)) for one in operands]
    rows = [np.tile(one.astype(one.dtype.newbyteorder("=")), 3) for one in rows]
    again = getattr(np, step.name)(*rows)[: result.size].reshape(shape)
    return same_bits(again.astype(native), result.astype(native))


def _chained(step, operands, result):
    return is_exact(dict(step.options)["acc"], operands)


def _as_set(step, operands, result):
    """NumPy takes byteswapped complex elements for native ones, so some of them for NaN."""
    return all(operand.dtype.kind != "c" or operand.dtype.isnative for operand in operands)


def _as_bits(step, operands, result):
    """NumPy runs functions of byteswapped arguments, whose bits are others as native elements.

    The sign and the payload of NaN are anybody's.
    """
    value = operands[0]
    return value.dtype.isnative and not (value.dtype.kind in "fc" and np.isnan(value).any())


def _in_range(step, operands, result):
    """NumPy casts a float beyond an integer's range to a number that depends on its place."""
    value = operands[0]
    if value.dtype.kind not in "iu" or not value.size:
        return True
    limits = np.iinfo(value.dtype)
    return limits.min <= value.min() - 10.0 and value.max() + 10.0 <= limits.max


def _without_nan(rule, neutral):
    """The rule of a fold that takes a number in place of each NaN."""

    def with_neutral(step, operands, result):
        value = operands[0]
        if value.dtype.kind in "fc":
            value = np.where(np.isnan(value), value.dtype.type(neutral), value)
        return rule(step, [value], result)

    return with_neutral


def _nan_spread(step, operands, result):
    """As of var and std, where nothing is left out and degrees of freedom are left.

    NumPy divides complex sums by a complex count, which rounds unless it is a power of two.
    """
    own = operands[0]
    count = own.size // max(1, np.size(result))
    if own.dtype.kind == "c" and count & (count - 1):
        return False
    return not np.any(np.isnan(own)) and _spread(step, operands, result)


SMALL_BLOCK = 8
"""The elements of a block of a sum in small forms."""
SETS = ("intersect1d", "setxor1d", "isin")
"""Functions that look for different elements, and whose results are native."""
RULES = {
    "fold": _chained,
    "nansum": _without_nan(_sum, 0),
    "nanprod": _without_nan(_prod, 1),
    "nanmean": _without_nan(_mean, 0),
    **dict.fromkeys(("nanmax", "nanmin"), _extreme),
    **dict.fromkeys(("nanvar", "nanstd"), _nan_spread),
    **dict.fromkeys((*EITHER_ZERO, "max", "min", "amax", "amin", "ptp"), _extreme),
    **dict.fromkeys(("sum", "trace"), _sum),
    "mean": _mean,
    "cumsum": _sum,
    **dict.fromkeys(("prod", "cumprod"), _prod),
    **dict.fromkeys(("var", "std"), _spread),
    **dict.fromkeys(("dot", "matmul"), _contracted),
    "einsum": _by_spec,
    "power": _power,
    "astype": _cast,
    "signbit": _sign_of_nan,
    "copysign": _sign_of_nan,
    "absolute": _absolute,
    **dict.fromkeys(("multiply", "square", "divide", "reciprocal"), _as_arrays),
    **dict.fromkeys((f"step {name}" for name in SETS), _as_set),
    "step x.real.view": _as_bits,
    **dict.fromkeys(("step round", "step around"), _in_range),
}


MOVING = frozenset({*VIEWS, "index", "copy", "roll"} - {"broadcast_arrays"})
"""What moves elements and leaves them as they are."""
JOINING = frozenset({"concatenate", "stack", "vstack", "hstack", "dstack"})
"""What does so where all operands are of one dtype."""


def distance(step, rough):
    """How far the value of a step may lie from NumPy's, None where that is not known.

    Args:
        step: the step.
        rough: of the values that it reads, how far those may lie.
    """
    row = PRIMITIVES.get(step.name)
    ulps = row.ulps if row else 0
    if not any(rough):
        return ulps
    moves = step.name in MOVING or (step.name in JOINING and len(set(step.operands)) == 1)
    return max(rough) if moves and "dtype" not in dict(step.options) else None


def determined(step, operands, result):
    """Whether a step of these operands (arrays) has one result, bit for bit.

    Values that options name stand in the options.
    """
    result = np.asarray(result)
    row = PRIMITIVES.get(step.name)
    if row and row.ufunc and result.dtype.kind == "c" and result.dtype.str[1:] not in row.loops:
        return False  # refused by the row
    rule = RULES.get(step.name)
    return rule is None or rule(step, operands, result)
