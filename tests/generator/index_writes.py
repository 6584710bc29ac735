"""Random writes by an index of any kind: what is written may overlap, or come from the same array.

The index is drawn as for reads: integer arrays, lists, masks, slices, integers, None, Ellipsis;
some are wrong. Arrays in it are arguments of the function, or literals.
"""

import numpy as np

from tests.generator.draws import Draws
from tests.generator.indices import draw_read

NAMES = "abcdef"
CODES = ("f8", "f4", "i4", "i8")
FORMS = ("a[{0}] = {1}", "a[{0}] = {1}", "a[{0}] += {1}", "a[{0}] *= {1}")
CALLS = ("np.add.at(a, np.s_[{0}], {1})", "np.maximum.at(a, np.s_[{0}], {1})")
CALLS += ("np.copyto(a[{0}], {1})", "np.add(a[{0}], {1}, out=a[{0}])")
FIRST = ("v = a[::-1]", "v = a * 2", "v = a.T", "v = a[:1]", "a += 1")


def drawn(seed, index):
    """The statements, the results and the arguments of a function of one or two writes."""
    draws = Draws(seed, index, 1)
    read = draw_read(seed, index)
    arguments = [_counted(read.array, draws.pick(CODES))]
    items = []
    for k, item in enumerate(read.items):
        text = _text(item)
        if k in read.given and len(arguments) < 4:
            arguments.append(text)
            text = NAMES[len(arguments) - 1]
        items.append(text)
    key = ", ".join(items) + "," * (len(items) == 1 and draws.chance(0.2))
    is_valid = True
    try:
        met = read.array[read.items].shape
    except IndexError:
        met, is_valid = (2,), False
    arguments.append(f"np.arange({int(np.prod(met))}, dtype='{draws.pick(CODES)}').reshape({met})")
    other = NAMES[len(arguments) - 1]
    values = [
        "7",
        "2.0",
        other,
        other,
        other,
        f"{other} + 1",
        f"{other}[::-1]",
        f"{other}[..., :1]",
    ]
    # of vectors that overlap NumPy reads by masks what it has written
    masked = any(isinstance(item, np.ndarray) and item.dtype == bool for item in read.items)
    own = [f"1 * {text}" if masked else text for text in ("a[::-1]", "a", "a.T", "a[1:]")]
    values += [f"a[{key}] * 2", *own, "np.arange(3)"]
    statements = [draws.pick(FIRST)] if draws.chance(0.3) else []
    for _ in range(draws.between(1, 2)):
        if is_valid and draws.chance(0.2):  # after an error NumPy's own frees memory twice
            value = draws.pick(("7", f"{other}.astype(a.dtype)"))
            statements.append(draws.pick(CALLS).format(key, value))
        else:
            statements.append(draws.pick(FORMS).format(key, draws.pick(values)))
    returned = ["a"] + ["v"] * statements[0].startswith("v")
    returned += [f"a[{key}]"] * draws.chance(0.2)
    return tuple(statements), tuple(returned), tuple(arguments)


def _counted(array, code):
    """An array of this shape and order of dimensions in memory, as text."""
    order = np.argsort([-n for n in array.strides], kind="stable")
    shape = tuple(array.shape[d] for d in order)
    made = f"np.arange({array.size}, dtype='{code}').reshape({shape})"
    back = tuple(np.argsort(order).tolist())
    return made if back == tuple(range(array.ndim)) else f"{made}.transpose{back}"


def _text(item):
    """An item of an index as text."""
    if isinstance(item, np.ndarray):
        return f"np.array({item.tolist()}, '{item.dtype.str[1:]}').reshape({item.shape})"
    if isinstance(item, slice):
        return ":".join(
            "" if end is None else str(end) for end in (item.start, item.stop, item.step)
        )
    return "..." if item is Ellipsis else str(item)
