"""Statements that write, read, hand out, hold and fail, for `vocabulary`."""

import ast

import numpy as np

import axiomjit.numpy

WRITERS = {"fill", "sort", "put", "partition", "itemset", "resize"}
"""Methods that write into their array."""
FUNCTIONS = {"copyto", "put", "place", "putmask", "fill_diagonal", "at", "append", "add"}
"""Functions that write into their first argument."""
SIGNS = ("+", "-", "*", "+", "*", "//", "%", "&", "|", "^", "/")
SMOOTH = ("+", "-", "*")
READS = (
    *(
        "{x}.tolist()",
        "{x}.copy()",
        "numpy.asarray({x}).copy()",
        "len({x})",
        "{x}.shape",
        "{x}.ndim",
    ),
    *("float({x}.sum())", "{x}.sum().item()", "np.array({x})", "{x}[0]", "[v for v in {x}]"),
    *("{x}[-1].copy()", "{x}.size", "{x}.dtype.name", "{x}.nbytes", "{x}.mean()"),
)
"""Reads of any array."""
EXACT_READS = (
    *("repr({x})", "str({x})", "f'{{{x}}}'", "bool({x}.any())", "bool({x})", "int({x}.sum())"),
    *("{x}.any()", "({x} > 1).sum()", "np.array_equal({x}, {x})", "3 in {x}", "{x}.argmax()"),
    *("list({x})", "np.unique({x})", "{x}.tobytes()", "np.count_nonzero({x})", "{x}.flat[0]"),
    *("np.nonzero({x})[0]", "complex({x}.max())", "{x}.item()", "[3, 4][{x}.argmax()]"),
)
"""Reads whose result changes much where a value changes little."""
ERRORS = (
    *("{x}[99]", "{x}[:, :, :, :, 0]", "{x} + np.ones((7, 5))", "{x}.reshape(7, 11)", "{x}['a']"),
    *("{x}.sum(axis=7)", "np.concatenate([{x}, np.ones((2, 2, 2, 2))])", "{x}.nothing"),
    *("{x}[99] = 1", "{x}[...] = np.ones(17)", "{x} += np.ones(17)", "np.add({x}, {x}, out=3)"),
    *("{x}[0.5]", "{x}.swapaxes(0, 9)", "{x} @ np.ones(17)", "{x} + None", "{x}.fill('a')"),
    *("np.broadcast_to({x}, {x}.shape)[...] = 1", "{x}[[99]]", "{x}.astype('no')", "del {x}[0]"),
    *("np.add({x}, {x}, out=np.ones(17))", "undefined + {x}", "{x} << 'a'", "np.copyto({x}, 'a')"),
    *("{x}[np.ones(17, bool)]", "{x}.reshape(-1, -1)", "{x}.transpose(0, 0)", "float({x})"),
    *("np.max({x}[:0])", "{x}.squeeze(0)", "iter({x}.sum())", "len({x}.sum())", "np.stack([])"),
)
EXPORTS = (
    *("numpy.asarray({x})", "numpy.asarray({x})", "{x}.__array__()", "numpy.asarray({x})[1:]"),
    *("numpy.asarray({x}).T", "numpy.asarray({v})", "numpy.asarray({v})"),
    *("numpy.from_dlpack({x})",) * hasattr(axiomjit.numpy.ndarray, "__dlpack__"),
)
"""Exports of an array, or of a view of it."""


def written_names(statement):
    """The names of arrays that a statement may write into."""
    for node in ast.walk(statement):
        if (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Store)
            or isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
        ):
            yield from _bases(node)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr in WRITERS:
                yield from _bases(node.func)
            if node.func.attr in FUNCTIONS:
                yield from _bases(node.func)
                for one in node.args[:1]:
                    yield from _bases(one)
            for keyword in node.keywords:
                if keyword.arg == "out":
                    yield from _bases(keyword.value)


def _bases(node):
    for one in ast.walk(node):
        if isinstance(one, ast.Name) and one.id not in ("np", "numpy"):
            yield one.id


def number(pool, value):
    """A number that may be written into an array."""
    kind = value.dtype.kind
    if kind == "b":
        return pool.pick(("True", "False", "0", "1"))
    whole = ("7", "k", "k + 1", "j", "0", "3")
    return pool.pick(whole if kind in "iu" else (*whole, "0.5", "k * 0.5", "j + 0.25", "-0.0"))


def _source(pool, x, part):
    """An array or number that fits into a part of an array, of which `part` is the value."""
    value = pool.space[x]
    if pool.draws.chance(0.55):
        names = (*pool.arrays(), *pool.outside("g"), *pool.outside("e"))
        found = [n for n in names if _goes_into(pool.space[n], part)]
        if found:
            return pool.pick(found)
    return number(pool, value)


def _goes_into(value, part):
    is_cast = np.can_cast(value.dtype, part.dtype, "same_kind")
    same = value.shape == part.shape[max(part.ndim - value.ndim, 0) :] or not value.ndim
    return is_cast and same and not (value.dtype.kind in "fc" and part.dtype.kind in "iub")


def write(pool):
    """A write into an array."""
    x = pool.array()
    if pool.draws.chance(0.1):
        x = pool.pick((*pool.outside("g"), *pool.outside("e"), x))
    if not x:
        return ""
    value = pool.space[x]
    which = pool.draws.uniform()
    if which < 0.3:
        return _in_place(pool, x, value)
    if which < 0.65 and isinstance(value, np.ndarray):
        return _set(pool, x, value)
    if which < 0.8:
        return _out(pool, x, value)
    return _other(pool, x, value)


def _signs(pool, x, y):
    if {x, y} & pool.rounded:
        return SMOOTH
    return SIGNS


def _in_place(pool, x, value):
    y = _source(pool, x, value)
    sign = pool.pick(_signs(pool, x, y))
    if value.ndim and pool.draws.chance(0.3):
        index = pool.index(x)
        return f"{x}[{index}] {sign}= {number(pool, value)}"
    return f"{x} {sign}= {y}"


def _set(pool, x, value):
    which = pool.draws.uniform()
    if which < 0.15 and value.ndim and x not in pool.rounded:
        return f"{x}[{x} > {pool.pick(('1', 'k', '2'))}] = {number(pool, value)}"
    if which < 0.25 and value.ndim:
        index = pool.pick(("[0, -1]", "np.array([0, 0])", "[True] + [False] * (len({x}) - 1)"))
        return f"{x}[{index.format(x=x)}] = {number(pool, value)}"
    if which < 0.37 and value.ndim:
        return _set_positions(pool, x, value)
    if which < 0.45 and value.ndim:
        return f"{x}[{pool.pick(('1:] = {x}[:-1]', ':-1] = {x}[1:]', '...] = {x}[::-1]'))}".format(
            x=x
        )
    if which < 0.53:
        text = pool.expression(x, 1)
        if np.can_cast(value.dtype, "f8") and value.dtype.kind == "f" and "1j" not in text:
            return f"{x}[...] = {text}"
    index = pool.index(x)
    try:
        part = np.asarray(eval(f"x[{index}]", {"x": value, "k": 0, "j": 0}))
    except IndexError:
        return f"{x}[{index}] = 1"
    return f"{x}[{index}] = {_source(pool, x, part)}"


def _set_positions(pool, x, value):
    """A write at positions, or of a list."""
    index, one = pool.positions(x), number(pool, value)
    if pool.draws.chance(0.3):
        return f"{x}[{index}] = {x}[{index}]{'' if value.dtype.kind in 'b' else f' * {one}'}"
    try:
        part = np.asarray(eval(f"_[{index}]", {**pool.space, "_": value, "k": 0, "j": 0}))
    except (IndexError, NameError):
        return f"{x}[{index}] = {one}"
    if pool.draws.chance(0.3) and part.ndim:
        return f"{x}[{index}] = [{', '.join([one] * part.shape[-1])}]"
    return f"{x}[{index}] = {_source(pool, x, part)}"


def _out(pool, x, value):
    y = _source(pool, x, value)
    function = pool.pick(("np.add", "np.multiply", "np.subtract"))
    if not {x, y} & pool.rounded and pool.draws.chance(0.3):
        function = pool.pick(("np.maximum", "np.divide", "np.minimum"))
    options = f"out={x}"
    if pool.draws.chance(0.15) and x not in pool.rounded:
        options += f", where={x} > 1"
    source = pool.operand(x, x not in pool.rounded) if pool.draws.chance(0.3) else x
    text = f"{function}({source}, {y}, {options})"
    return f"{pool.target()} = {text}" if pool.draws.chance(0.3) else text


def _other(pool, x, value):
    y, one = _source(pool, x, value), number(pool, value)
    choices = [f"np.copyto({x}, {y})", f"{x}.fill({one})", f"np.copyto({x}, {y})"]
    choices += [f"np.put({x}, [0, 1], {one})", f"{x}.put([0], {one})", f"{x}.flat[0] = {one}"]
    choices += [f"{x}.flat = {one}", f"{x}.T[...] = {y}", f"{x}.ravel()[0:1] = {one}"]
    choices += [f"np.add.at({x}, [0, 0], {one})", f"np.fill_diagonal({x}, {one})"]
    choices += [f"{x}.real = {one}", f"{x}.reshape(-1)[0:2] = {one}", f"{x}.reshape(-1)[:] = {one}"]
    if x not in pool.rounded:
        choices += [f"{x}.sort()", f"{x}[::-1].sort()", f"np.copyto({x}, {y}, where={x} > 1)"]
        choices += [f"np.putmask({x}, {x} > 1, {one})", f"np.place({x}, {x} > 1, [{one}])"]
    return pool.pick(choices)


def read(pool):
    """A look at values, or a question of shapes."""
    if pool.draws.chance(0.4):
        x = pool.array(exact=True)
        return x and f"tell({pool.pick(EXACT_READS).format(x=x)})"
    x = pool.array()
    return x and f"tell({pool.pick(READS).format(x=x)})"


def export(pool):
    """An export that is kept, written through or dropped."""
    exports = pool.outside("e")
    if exports and pool.draws.chance(0.6):
        e = pool.pick(exports)
        one = number(pool, pool.space[e])
        choices = [f"{e}[...] = {one}", f"{e}[0:1] = {one}", f"{e}[1:] = {one}", f"del {e}"]
        x = pool.array()
        choices += [f"{e}[...] = {x}", f"{x} = wrap({e}.copy())", f"{pool.target()} = {e} + 1"]
        source = _source(pool, e, pool.space[e])
        return pool.pick((*choices, f"{e}[...] = {source}"))
    x = pool.array()
    if not x or not isinstance(pool.space[x], np.ndarray):
        return ""
    text = pool.pick(EXPORTS).format(x=x, v=f"{x}[{pool.index(x)}]")
    return f"e{pool.draws.below(2)} = {text}"


def given(pool):
    """A given array that is shared, read, written or dropped."""
    found = pool.outside("g")
    if not found or pool.draws.chance(0.1):
        return f"g{pool.draws.below(2)} = {pool.made()}"
    g = pool.pick(found)
    one, x = number(pool, pool.space[g]), pool.target()
    source = _source(pool, g, pool.space[g])
    choices = [f"{g}[...] = {one}", f"{g}[0:1] = {one}", f"{g}[...] = {source}", f"del {g}"]
    choices += [
        f"{x} = share({g})",
        f"{x} = share({g})",
        f"{x} = share({g}[1:])",
        f"{g} += {source}",
    ]
    choices += [f"{x} = {x} + {g}" if x in pool.arrays() else f"{x} = {g} * 2"]
    return pool.pick(choices)


def hold(pool):
    """Another name, one less, and arrays in a list or an iterator."""
    x, new = pool.array(), pool.target()
    if not x:
        return ""
    choices = [f"del {x}", f"{new} = {x}", f"keep.append({x})", f"{new} = {x}; {x} = None"]
    if pool.space["keep"]:
        last = pool.space["keep"][-1]
        choices += ["keep.clear()", "del keep[0]"]
        choices += [f"{new} = keep.pop()", "keep[-1][...] = 1"] * isinstance(last, np.ndarray)
    if pool.space[x].ndim:
        choices += [f"rows = list({x})", f"it = iter({x}); {new} = next(it)"]
    if "rows" in pool.space and pool.space["rows"]:
        choices += [f"{new} = rows.pop()", "del rows"]
    return pool.pick(choices)


def error(pool):
    """A statement that fails for most arrays."""
    x = pool.array()
    return x and pool.pick(ERRORS).format(x=x)
