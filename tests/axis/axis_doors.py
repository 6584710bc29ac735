"""Every function that asks for axes of a tensor, called with one of its axes given in some way.

A tensor x has the axes batch=4, row=6 and channel=3. A call takes x and `a`, which stands for the
axis `batch`: the Axis itself, its name, or something that is refused.
"""

import numpy as np

import axiomjit as aj

ROWS = aj.make_axis_role("rows")
BATCH = aj.make_axis(4, "batch")
ROW = aj.make_axis(6, "row", roles=ROWS)
CHANNEL = aj.make_axis(3, "channel")
NEW = aj.make_axis(2, "new")
FILTER = aj.constant(np.ones((3, 2)), [CHANNEL, aj.make_axis(2, "window", roles=ROWS)])
TALL_BATCH = aj.make_axis(4, "batch", roles=ROWS)

ALL = slice(None)

REDUCTIONS = (
    *("sum", "prod", "max", "min", "any", "all", "mean", "variance", "var", "std"),
    *("argmax", "argmin", "squared_L2", "L1_norm", "L2_norm", "tensor_size"),
    "logsumexp",
)
METHODS = (
    *("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "argmax", "argmin"),
    "transpose",
)
NUMPYS = ("sum", "prod", "max", "amax", "min", "any", "all", "mean", "var", "std", "argmax")
OF_VALUES = ("sort", "cumsum", "median", "flip", "argsort", "ptp")


def reductions():
    """Reductions over one axis, in a list, and with the axes that are left."""
    calls = {}
    for name, f in ((name, getattr(aj, name)) for name in REDUCTIONS):
        calls[name] = lambda x, a, f=f: f(x, a)
        calls[f"{name} of a list"] = lambda x, a, f=f: f(x, [a, CHANNEL])
        calls[f"{name} out_axes"] = lambda x, a, f=f: f(x, out_axes=[CHANNEL, a])
    return calls


def methods():
    """Methods of tensors and named arrays, and NumPy's functions of them."""
    calls = {}
    for name in METHODS[:-1]:
        calls[f"x.{name}"] = lambda x, a, name=name: getattr(x, name)(a)
        calls[f"array.{name}"] = lambda x, a, name=name: getattr(x.eval(), name)(axis=(a, CHANNEL))
    for name, f in ((name, getattr(np, name)) for name in NUMPYS):
        calls[f"np.{name}"] = lambda x, a, f=f: f(x, axis=a)
        calls[f"np.{name} of array"] = lambda x, a, f=f: f(x.eval(), a)
    for name, f in ((name, getattr(np, name)) for name in OF_VALUES):
        calls[f"np.{name}"] = lambda x, a, f=f: f(x.eval(), axis=a)
    return calls


DOORS = {
    **reductions(),
    **methods(),
    "np.concatenate": lambda x, a: np.concatenate([x.eval(), np.asarray(x)], axis=a),
    "np.sort, by place": lambda x, a: np.sort(x.eval(), a),
    "x.sum out_axes": lambda x, a: x.sum(out_axes=a),
    "x.transpose": lambda x, a: x.transpose(CHANNEL, a, ROW),
    "array.transpose": lambda x, a: x.eval().transpose([CHANNEL, a, ROW]),
    "x[...]": lambda x, a: x[{a: 1}],
    "x[...] of two": lambda x, a: x[{a: slice(1, 3), "channel": 0}],
    "x[...] of an array": lambda x, a: x.eval()[{a: 1}],
    "x[...] = y": lambda x, a: aj.assign(aj.variable(x.axes)[{a: 1}], 2),
    "set_item": lambda x, a: aj.set_item(aj.variable(x.axes), {a: 1}, 2),
    "tensor_slice": lambda x, a: aj.tensor_slice(
        x, [slice(None)] * len(x.shape), axes=[a, *x.axes[1:]]
    ),
    "slice_along_axis": lambda x, a: aj.slice_along_axis(x, a, slice(1, 3)),
    "pad": lambda x, a: aj.pad(x, {a: (1, 2)}),
    "pad axes": lambda x, a: aj.pad(x, {ROW: 0}, axes=[a, "row", "channel"]),
    "flatten": lambda x, a: aj.flatten(x, [a, ROW]),
    "merged axis": lambda x, a: aj.sum(aj.flatten(x, [BATCH, ROW]), [[a, ROW]]),
    "softmax": lambda x, a: aj.softmax(x, a),
    "cross_entropy_multi": lambda x, a: aj.cross_entropy_multi(x, x, out_axes=a),
    "cross_entropy_binary": lambda x, a: aj.cross_entropy_binary(x, x, out_axes=[a]),
    "fold": lambda x, a: aj.fold("max", x, axes=a),
    "fold running": lambda x, a: aj.fold("max", x, axes=a, running=True),
    "cumsum": lambda x, a: aj.cumsum(x, a),
    "cumprod": lambda x, a: aj.cumprod(x, a),
    "sort": lambda x, a: aj.sort(x, a),
    "argsort": lambda x, a: aj.argsort(x, a),
    "take": lambda x, a: aj.take(x, 1, a),
    "concat_along_axis": lambda x, a: aj.concat_along_axis([x, x], a),
    "axes_with_order": lambda x, a: aj.axes_with_order(x, [CHANNEL, a, ROW]),
    "broadcast": lambda x, a: aj.broadcast(x, [NEW, ROW, a, CHANNEL]),
    "cast_axes": lambda x, a: aj.cast_axes(x, [a, ROW, CHANNEL]),
    "cast_role": lambda x, a: aj.cast_role(x, [a, ROW, CHANNEL]),
    "rename": lambda x, a: aj.rename(x, {a: "other"}),
    "rename to an axis": lambda x, a: aj.rename(x, {a: aj.make_axis(4, "other")}),
    "pooling": lambda x, a: aj.pooling(x, {a: 2}),
    "pooling strides": lambda x, a: aj.pooling(x, {BATCH: 2}, strides={a: 1}),
    "pooling padding": lambda x, a: aj.pooling(x, {BATCH: 2}, padding={a: 1}),
    "pooling dilation": lambda x, a: aj.pooling(x, {BATCH: 2}, dilation={a: 2}),
    "pooling axes": lambda x, a: aj.pooling(x, {ROW: 6}, axes=[a, NEW_ROW, CHANNEL]),
    "axes.index": lambda x, a: x.axes.index(a),
    "axes -": lambda x, a: x.axes - [a],
    "axes &": lambda x, a: x.axes & [a, ROW],
}
NUMPYS_OWN = {*(f"np.{name}" for name in OF_VALUES), "np.concatenate", "np.sort, by place"}
"""Functions of values, which refuse by themselves what is neither axis nor name."""
NEW_ROW = aj.make_axis(1, "rows", roles=ROWS)

SLIDING = {
    "convolution strides": lambda x, a: aj.convolution(x, FILTER, strides={a: 2}),
    "convolution padding": lambda x, a: aj.convolution(x, FILTER, padding={a: (1, 0)}),
    "convolution dilation": lambda x, a: aj.convolution(x, FILTER, dilation={a: 2}),
    "convolution axes": lambda x, a: aj.convolution(
        x, FILTER, padding={ROW: (1, 0)}, axes=[BATCH, SAME_ROW]
    ),
}
"""Calls in which `a` stands for the axis `row`, along which a filter slides."""
SAME_ROW = aj.make_axis(6, "row", roles=ROWS)

ADDED = {
    "expand_dims": lambda x, a: aj.expand_dims(x, a),
    "stack": lambda x, a: aj.stack([x, x], a),
    "one_hot": lambda x, a: aj.one_hot(aj.astype(x, int), a),
}
"""Functions that add an axis, which no name can stand for."""
