"""Random statements of functions that write: as text, from the arrays that there are at that place.

Each draws from `space`, the variables after the statements before, run by NumPy.
"""

import numpy as np

from tests.passes.graphs import quiet

SLICES = (":", ":", "1:", ":-1", "1:-1", "::2", "::-1", "2:", ":-2", "3:0:-1")
COPIES = ("{} + 1", "{} * 2", "{}.copy()", "np.array({})", "np.asarray({})")
MADE = ("np.zeros({}.shape)", "np.ones_like({})", "np.full({}.shape, 2, 'i8')")
MADE += ("np.zeros(len({}))", "np.arange({}.shape[0])", "np.zeros_like({})")
MADE += ("np.zeros((2, len({})), 'i4')", "np.linspace(0, 8, 5)", "np.arange(2, 9, 3)")
FILLED = "{0} = np.empty({1}.shape, {1}.dtype); {0}[...] = {2}"
FOLDS = ("sum", "sum", "max", "min", "prod", "any", "all", "argmax", "cumsum")
CHOICES = ("{0}[{1}]", "{0}[{1}]", "{0}[{1}].sum()", "{0}[{1}].max(initial=0)", "{0}[{1}].size")
CHOICES += ("{0}[{1}][:3]", "{0}[{1}][::-1]", "{0}[{1}].reshape(2, -1)", "np.flatnonzero({1})")
CHOICES += ("np.nonzero({1})[-1]", "np.where({1})[0] * 2", "np.sort({0}[{1}])", "np.argwhere({1})")
CHOICES += ("{0}[{1}][-3:]", "{0}[{1}][1:]", "{0}[{1}][:-1] * 2", "{0}[{1}][2:5].sum()")
CHOICES += ("np.compress(({1}).reshape(-1)[: len({0})], {0}, axis=0)", "{0}[{1}] + {0}[{1}]")
DRAWS = ("rng.integers(0, 9, size={0}.shape)", "np.rint(rng.normal(size={0}.shape[0]) * 4)")
DRAWS += ("rng.permutation(len({0}))", "rng.choice([0.5, 1.5, -3.0], size=(2, len({0})))")
LARGEST = 2.0**22
"""What sums of absolute values stay below: sums are exact in every order, also in float32."""
ELEMENTS = 600
"""What arrays stay below, so that programs are quick."""


def fits(space):
    """Whether all arrays are small, and so are their elements."""
    with quiet():
        return all(
            value.size < ELEMENTS and np.abs(value.astype(float)).sum() < LARGEST
            for value in space.values()
            if isinstance(value, np.ndarray | np.generic)
        )


def arrays_in(space):
    """The names of arrays."""
    return [name for name, value in space.items() if isinstance(value, np.ndarray)]


def key_of(draws, array):
    """An index of an array, as text."""
    items = [draws.pick(SLICES) for _ in range(array.ndim)]
    if draws.chance(0.25):
        items[draws.below(array.ndim)] = str(draws.between(-2, 1))
    if draws.chance(0.15):
        items[draws.below(array.ndim) :] = ["..."]
    if draws.chance(0.1):
        items.insert(draws.below(len(items) + 1), "None")
    return ", ".join(items)


def part_of(draws, space, name):
    """An array or a view of it, as text."""
    array = space[name]
    if not isinstance(array, np.ndarray) or not array.ndim or draws.chance(0.4):
        return name
    if draws.chance(0.25):
        return draws.pick((f"{name}.T", f"{name}.swapaxes(0, -1)", f"{name}[...]"))
    return f"{name}[{key_of(draws, array)}]"


def shape_in(space, text):
    """The shape of an expression, None where it has none."""
    try:
        with quiet():
            return np.shape(eval(text, {"np": np, **space}))
    except (ValueError, IndexError, TypeError):
        return None


def value_for(draws, space, shape):
    """What stretches to a shape, as text: a number, a part, or arithmetic of them."""
    found = [str(draws.pick((0, 1, -2, 3)))]
    for name in arrays_in(space) * 3:
        part = part_of(draws, space, name)
        if _stretches(part, space, shape):
            found.append(part)
    found += [name for name, value in space.items() if isinstance(value, np.generic)]
    one, other = draws.pick(found[1:] or found), draws.pick(found)
    return draws.pick((one, f"{one} * 2", f"{one} + {other}", f"{other} - {one}", f"-({one})"))


def _stretches(part, space, shape):
    own = shape_in(space, part)
    try:
        return own is not None and np.broadcast_shapes(own, shape) == shape
    except ValueError:
        return False


def _mask(draws, space, name):
    """A mask of an array, or of its first dimension, as text."""
    array, limit = space[name], draws.pick((-99, 2, 7, 20, 99))
    rows = f"{name}[{', '.join(':' + '0' * (d > 0) for d in range(array.ndim))}]"
    rows = rows.replace(":0", "0")
    same = [other for other in arrays_in(space) if space[other].shape == array.shape]
    one = draws.pick((name, name, draws.pick(same), rows if array.shape[-1] else name))
    forms = f"{one} > {limit}", f"{one} % 2 == 0", f"({one} > 3) & ({name} < {limit})"
    return draws.pick(forms if one != rows else forms[:2])


def _new(draws, space, number, name):
    form = draws.pick((*COPIES, *MADE, FILLED))
    part = part_of(draws, space, name)
    if form is FILLED:
        value = value_for(draws, space, space[name].shape)
        return form.format(f"v{number}", name, value)
    return f"v{number} = {form.format(part if form in COPIES else name)}"


def _fold(draws, space, number, name):
    """A fold of a part, of a product, or of a part that was computed."""
    part, other = part_of(draws, space, name), draws.pick(arrays_in(space))
    rank = len(shape_in(space, part) or ())
    axes = ("", "", *(f"axis={d}" for d in range(rank)), "axis=-1" if rank else "")
    fold, axis = draws.pick(FOLDS), draws.pick(axes)
    of = draws.pick((part, part, f"({part} * 2 + 1)", f"({part} * {other})"))
    if draws.chance(0.2):
        return f"v{number} = np.add.reduce({of}{', ' * bool(axis)}{axis})"
    if draws.chance(0.1):
        return f"v{number} = np.floor(np.mean({of}{', ' * bool(axis)}{axis}))"
    return f"v{number} = {of if '*' in of else f'({of})'}.{fold}({axis})"


def _chosen(draws, space, number, name):
    mask = _mask(draws, space, name)
    form = draws.pick(CHOICES)
    if draws.chance(0.2):
        other = draws.pick(arrays_in(space))
        form = draws.pick(("{0}[{1}] * {2}", "{0}[{1}] - {0}[{3}]", "({2} + {0}[{1}]).sum()"))
        return f"v{number} = {form.format(name, mask, other, _mask(draws, space, name))}"
    return f"v{number} = {form.format(name, mask)}"


def _positions(draws, space, n):
    """Integers, as text: a list, or an array of the function within a dimension of length n."""
    integers = [k for k in arrays_in(space) if space[k].dtype.kind in "iu" and space[k].ndim == 1]
    if n and draws.chance(0.1):
        name = draws.pick(arrays_in(space))
        return f"np.argsort({name}.reshape(-1)[:{n}])[:{draws.between(1, n)}]"
    if integers and n and draws.chance(0.6):
        found = draws.pick(integers)
        return found if draws.chance(0.1) else f"{found} % {n}"
    count = draws.between(0, 3) if n else 0
    return str([draws.between(-n, n - 1) for _ in range(count)])


def _indexed(draws, space, name):
    """Elements at positions, as text."""
    array = space[name]
    axis = draws.below(array.ndim)
    items = [draws.pick((":", ":", "1:", "::-1")) for _ in range(axis)]
    items.append(_positions(draws, space, array.shape[axis]))
    if axis + 1 < array.ndim and draws.chance(0.4):
        items.append(draws.pick((":-1", "None", "0", "...", items[-1])))
    return f"{name}[{', '.join(items)}]"


def _compared(draws, space, number, name):
    """A choice by a comparison of entire arrays."""
    one, other = part_of(draws, space, name), part_of(draws, space, draws.pick(arrays_in(space)))
    forms = f"np.array_equal({one}, {other})", f"np.array_equiv({one}, {other})"
    near = f"np.allclose({one}, {draws.pick((0, f'({one})[::-1]', other))}, atol=2)"
    truth = draws.pick((*forms, near))
    return f"v{number} = {one} * 2 if {'not ' * draws.chance(0.3)}{truth} else {other} + {truth}"


def _taken(draws, space, number, name):
    text = _indexed(draws, space, name)
    if draws.chance(0.2):
        return f"v{number} = np.take({name}, {_positions(draws, space, len(space[name]))}, axis=0)"
    return f"v{number} = {text}{draws.pick(('', '', ' * 2', '.sum()', '.sum(axis=0)'))}"


def _scattered(draws, space, number, name):
    """A write at positions or by a mask, of an array."""
    if draws.chance(0.1):
        array = space[name]
        found = _positions(draws, space, array.size)
        return f"np.put({name}, {found}, {value_for(draws, space, (3,))})"
    if draws.chance(0.3):
        mask, other = _mask(draws, space, name), draws.pick(arrays_in(space))
        same = space[other].shape == space[name].shape
        value = f"{other if same else name}[{mask}] * 2"
        values = value, f"({value})[::-1]", "3", f"{name}.max() + [1.0]"
        return f"{name}[{mask}] {draws.pick(('=', '=', '+='))} {draws.pick(values)}"
    target = _indexed(draws, space, name)
    shape = shape_in(space, target)
    value = value_for(draws, space, shape or ())
    if shape is not None and _fits_in(value, space, name) and draws.chance(0.4):
        place = target[len(name) + 1 : -1]
        function = draws.pick(("add", "subtract", "maximum", "multiply"))
        return f"np.{function}.at({name}, np.s_[{place}], {value})"
    return f"{target} {draws.pick(('=', '=', '+=', '-='))} {value}"


def _fits_in(value, space, name):
    """Whether a value is cast to the dtype of an array; NumPy's `at` may crash after an error."""
    try:
        with quiet():
            dtype = np.asarray(eval(value, {"np": np, **space})).dtype
    except TypeError:  # minus a bool
        return False
    return np.can_cast(dtype, space[name].dtype, "same_kind")


def _drawn(draws, space, number, name):
    return f"v{number} = {draws.pick(DRAWS).format(name)}"


def _filled(draws, space, number, name):
    """A number written where a condition holds."""
    value = draws.pick((0, 1, 2.5, f"{name}.max()"))
    return f"{name}[{_mask(draws, space, name)}] = {value}"


def _parts(draws, space, number, name):
    """Complex numbers of which one part is written, and the part that was not."""
    key, value = key_of(draws, space[name]), draws.pick((0, 2.5, f"{name}[::-1]", "-1j"))
    if value == f"{name}[::-1]" or shape_in(space, f"{name}[{key}]") is None:
        key = "..."
    part, other = draws.pick((("real", "imag"), ("imag", "real")))
    write = draws.pick((f".{part}[{key}] = {value}", f".{part} = {name}", f".{part}[{key}] += 1"))
    made = f"v{number} = {name} + 1j"
    return f"{made}; v{number}{write}; v{number} = v{number}.{other} * 2 + v{number}.{part}"


def _bits(draws, space, number, name):
    """Floats whose bits are written through a view."""
    key = key_of(draws, space[name])
    key = "..." if shape_in(space, f"{name}[{key}]") is None else key
    write = draws.pick(("^= -(2**63)", "&= 2**63 - 1", "= 4607182418800017408", "|= 1 << 52"))
    made = f"v{number} = np.add({name}, 0.5, dtype='f8')"
    return f"{made}; v{number}.view('i8')[{key}] {write}"


def _reshaped(draws, space, number, name):
    """A new vector that is given another shape and written."""
    made = f"v{number} = np.ndarray({name}.size, {name}.dtype); v{number}[:] = 3"
    return f"{made}; v{number}.shape = {name}.shape; v{number} += {name}"


def _by_layout(draws, space, number, name):
    """A choice by how an argument lies in memory, or a number of it."""
    seen = draws.pick(("a", "a", "a.T", "a[::-1]", "a[..., 1:]", name))
    flag = draws.pick((".c_contiguous", ".f_contiguous", "['FORC']", ".aligned", "['FNC']"))
    step = f"{seen}.strides[{draws.pick((0, -1))}] // {seen}.itemsize"
    other = draws.pick((f"{name} + 1", step))
    return f"v{number} = {name} * 2 if {seen}.flags{flag} else {other}"


def _by_rows(draws, space, number, name):
    """A function of each row along a dimension of an array."""
    axis = draws.below(space[name].ndim)
    forms = (
        "r[::-1] * 2",
        "r.sum() + r[0]",
        "np.cumsum(r)[1:]",
        "[r.max(), r[-1]]",
        "np.outer(r, r)",
    )
    forms += "r if r[0] > 2 else -r", "np.where(r > 2, r, 0) + a.sum()", "np.sort(r)", "2.5"
    return f"v{number} = np.apply_along_axis(lambda r: {draws.pick(forms)}, {axis}, {name})"


def _sorted(draws, space, number, name):
    return f"{name}.sort(axis={draws.between(-space[name].ndim, space[name].ndim - 1)})"


def _view(draws, space, number, name):
    key = key_of(draws, space[name])
    seen = draws.pick((f"{name}[{key}]", f"{name}.T", part_of(draws, space, name)))
    return f"v{number} = {seen}"


def _written(kind):
    """The statement that writes a value into a part."""

    def statement(draws, space, number, name):
        array = space[name]
        key = key_of(draws, array)
        try:
            target = array[eval(f"np.s_[{key}]", {"np": np})]
        except IndexError:
            target = array
        value = value_for(draws, space, target.shape)
        if draws.chance(0.05):
            value = draws.pick(("a[99]", "np.ones(4)[:3]", "b.no_such", "1j"))
        if target.ndim == 1 and not set(value) & set("+-*"):
            value = f"1 * {value}"  # NumPy reads what it has written of some vectors that overlap
        place = f"{name}[{key}]"
        match kind:
            case "item":
                return f"{place} = {value}"
            case "augmented":
                return f"{place} {draws.pick(('+=', '-=', '*='))} {value}"
            case "copyto":
                return f"np.copyto({place}, {value})"
            case "fill" if target.ndim:
                return f"{place}.fill({draws.pick((0, 1, 7))})"
        other = value_for(draws, space, target.shape)
        function = draws.pick(("add", "subtract", "multiply", "maximum"))
        return f"np.{function}({value}, {other}, out={place})"

    return statement


KINDS = {
    "item": (3, _written("item")),
    "augmented": (2, _written("augmented")),
    "out": (1, _written("out")),
    "copyto": (1, _written("copyto")),
    "fill": (1, _written("fill")),
    "view": (1, _view),
    "new": (2, _new),
    "fold": (2, _fold),
    "mask": (1, _filled),
    "sort": (1, _sorted),
    "parts": (1, _parts),
    "reshaped": (1, _reshaped),
    "bits": (1, _bits),
    "layout": (1, _by_layout),
    "rows": (1, _by_rows),
    "chosen": (2, _chosen),
    "compared": (1, _compared),
    "taken": (1, _taken),
    "drawn": (1, _drawn),
    "scattered": (2, _scattered),
}
"""How often each kind of statement is drawn, and what draws it."""


def statement(draws, space, number):
    """A statement of a random kind."""
    kinds = [kind for kind, (many, _) in KINDS.items() for _ in range(many)]
    name = draws.pick(arrays_in(space))
    if not space[name].ndim:
        return f"{name} += 1"
    return KINDS[draws.pick(kinds)][1](draws, space, number, name)
