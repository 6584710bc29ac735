"""Steps that look at a value in another way: indices, reshapes, transposes and their like."""

from axiomjit.numpy_rules.shapes import METHODS
from tests.generator.programs import Step


def shaper(d, values):
    """A function of the shape, called in one of its forms."""
    k = values.any()
    array = values.arrays[k]
    if d.chance(0.35):
        return Step("index", "{0}[{key}]", (k,), (("key", key_of(d, array.shape)),))
    name = "reshape" if d.chance(0.2) else d.pick(list(VIEWS))
    options = VIEWS[name](d, array)
    if options is None:
        return None
    if name == "broadcast_arrays":
        other = values.any()
        return Step(name, f"np.{name}({{many}})[{d.below(2)}]", (k, other))
    form = f"np.{name}({{0}}{{options}})"
    if name in ("T", "mT"):
        form = f"{{0}}.{name}"
    elif name == "flatten" or (name in (*METHODS, "ravel") and d.chance(0.3)):
        form = f"{{0}}.{name}({{bare}})"
    elif name == "reshape" and d.chance(0.3):
        return Step(name, "{0}.reshape({1})", (k, options["shape"]))
    return Step(name, form, (k,), tuple(options.items()))


def key_of(d, shape):
    """An index: integers, slices, None and an ellipsis."""
    key = [item_of(d, n) for n in shape]
    if d.chance(0.25):
        at = d.below(len(key) + 1)
        stop = d.between(at, len(key))
        key[at:stop] = [Ellipsis]
    elif key and d.chance(0.3):
        key = key[: d.below(len(key))]
    if d.chance(0.25):
        key.insert(d.below(len(key) + 1), None)
    return tuple(key)


def item_of(d, n):
    """A slice, or an index where there is one."""
    if n and d.chance(0.2):
        return d.between(-n, n - 1)
    if d.chance(0.3):
        return slice(None)
    ends = [d.between(-n - 2, n + 2) if d.chance(0.5) else None for _ in range(2)]
    if d.chance(0.5) and None not in ends and ends[0] > ends[1]:
        ends = ends[::-1]
    return slice(*ends, d.pick((None, None, None, 1, 2, 3, -1, -2)))


def shape_of(d, size):
    """A shape of so many elements, one length perhaps left out."""
    shape, rest = [], size
    for _ in range(d.below(4)):
        divisors = [n for n in range(1, rest + 1) if rest % n == 0] or [0, 2]
        shape.append(d.pick(divisors))
        rest = rest // shape[-1] if shape[-1] else rest
    shape.insert(d.below(len(shape) + 1), rest)
    at = d.below(3 * len(shape))
    if at < len(shape) and 0 not in [*shape[:at], *shape[at + 1 :]]:
        shape[at] = -1
    return tuple(shape)


def _axis(d, rank):
    return d.between(-rank, rank - 1)


def _pair(d, array, first, second):
    if not array.ndim:
        return None
    return {first: _axis(d, array.ndim), second: _axis(d, array.ndim)}


def _transpose(d, array):
    if d.chance(0.3):
        return {}
    return {"axes": tuple(d.order(range(array.ndim)))}


def _moveaxis(d, array):
    if array.ndim >= 2 and d.chance(0.3):
        axes = [tuple(d.order(range(array.ndim))[:2]) for _ in range(2)]
        return {"source": axes[0], "destination": axes[1]}
    return _pair(d, array, "source", "destination")


def _squeeze(d, array):
    ones = tuple(axis for axis, n in enumerate(array.shape) if n == 1)
    return {} if d.chance(0.5) else {"axis": d.pick((None, ones[:1], ones))}


def _expand(d, array):
    if d.chance(0.3):
        return {"axis": tuple(d.order(range(array.ndim + 2))[:2])}
    return {"axis": d.between(-array.ndim - 1, array.ndim)}


def _broadcast(d, array):
    front = (d.pick((1, 2, 3)),) if d.chance(0.5) else ()
    wide = d.pick((1, 2, 5))
    return {"shape": (*front, *(wide if n == 1 else n for n in array.shape))}


def _diagonal(d, array):
    if array.ndim < 2:
        return None
    first, second = d.order(range(array.ndim))[:2]
    return {"offset": d.between(-2, 2), "axis1": first, "axis2": second}


def _flip(d, array):
    if not array.ndim or d.chance(0.3):
        return {}
    axes = d.some(range(array.ndim))
    return {"axis": axes[0] if len(axes) == 1 else tuple(axes)}


def _rot90(d, array):
    if array.ndim < 2:
        return None
    return {"k": d.between(-1, 4), "axes": tuple(d.order(range(array.ndim))[:2])}


def _rank(least):
    return lambda d, array: {} if array.ndim >= least else None


VIEWS = {
    **dict.fromkeys(("ravel", "flatten", "T", "broadcast_arrays"), _rank(0)),
    **dict.fromkeys(("atleast_1d", "atleast_2d", "atleast_3d"), _rank(0)),
    **{"flipud": _rank(1), "fliplr": _rank(2), "mT": _rank(2), "matrix_transpose": _rank(2)},
    "transpose": _transpose,
    "swapaxes": lambda d, array: _pair(d, array, "axis1", "axis2"),
    "moveaxis": _moveaxis,
    "rollaxis": lambda d, array: _pair(d, array, "axis", "start"),
    "squeeze": _squeeze,
    "expand_dims": _expand,
    "broadcast_to": _broadcast,
    "diagonal": _diagonal,
    "flip": _flip,
    "rot90": _rot90,
    "reshape": lambda d, array: {"shape": shape_of(d, array.size)},
}
