"""Steps that read lists of values, known arrays at positions, windows and parts."""

from tests.generator.programs import Step
from tests.generator.steps import LINE, ROWS, forms

_LINE = """
    np.concatenate(({0}, [{0}[0], {0}.size]))
    np.concatenate(([{0}.size], [{0}[-1]]))
    np.array([{0}[0], 2, {0}.size])
    np.array([[{0}[0], 1.5], [2, {0}[-1]]])
    np.array([{0}, {0} * 2])
    np.array([{0}[{0} > 1].size, {0}.size])
    np.append({0}, [{0}[-1], 3])
    np.stack([{0}[:1], [{0}[-1]]], 1)
    np.minimum.reduce([{0}, {0}[::-1]])
    np.maximum.reduce([{0}, 5 - {0}, {0}[::-1]], axis=0)
    np.add.reduce(({0}, {0}))
    np.subtract.reduce([{0}, {0}[::-1]])
    np.logical_and.reduce([{0} > 1, {0} < 5, {0} != 2])
    np.logical_or.reduce([{0} > 1, {0}[::-1] > 1])
    np.add.accumulate([{0}, {0}], axis=0)
    np.sum([{0}, {0}], axis=0)
    np.mean([{0}, {0}], axis=0)
    np.max([{0}, {0}[::-1]], axis=1)
    np.any([{0} > 1, {0} < 0], axis=0)
    np.argmax([{0}, {0}[::-1]], axis=0)
    np.r_[0, {0}, {0}.size]
    np.r_[True, {0}[1:] != {0}[:-1]]
    np.c_[{0}, {0} * 2]
    np.eye(7)[{0}]
    np.arange(10)[{0}] * 2
    np.array([1.5, 2.5, 3.5, 4.5, 5.5])[{0}]
    np.take([3.0, 4.0, 5.0, 6.0, 7.0], {0})
    (np.arange(6) ** 2)[{0}[{0} > 1]]
    np.zeros({0}.max())
    np.full((2, {0}[0]), {0}[-1])
    {0}[{0} > 1][:3]
    {0}[{0} > 1][-3:]
    {0}[{0} > 1][1:]
    {0}[{0} > 1][:-1] * 2
    {0}[{0} > 1][2:5]
    {0}[{0} > 1][3:0:-1]
    np.diff({0}[{0} > 1])
    np.sort({0}[{0} > 1])[::-1][:2]
    np.lib.stride_tricks.sliding_window_view({0}, 1)
    np.lib.stride_tricks.sliding_window_view({0}, 2).sum(-1)
    np.lib.stride_tricks.sliding_window_view({0}, 3).max(-1)
    np.lib.stride_tricks.sliding_window_view({0}, 2)[::2]
    np.piecewise({0}, [{0} > 1], [lambda v: v * 2, 7])
    np.piecewise({0}, [{0} > 2, {0} < 2], [lambda v: v + v.size, lambda v: -v, 3])
    np.split({0}, [1, 2])[1]
    np.array_split({0}, 3)[0]
    np.meshgrid({0}, {0}[:3])[1]
    np.diag({0}, 1)
    np.diagflat({0}, -1)
    np.gradient({0})
    np.gradient({0}, 2, edge_order=2)
    np.gradient({0}, np.cumsum({0}))
    np.polyval([2, 1, 3], {0})
    np.polyval({0}[:3], {0})
    np.cumulative_sum({0})
    np.cumulative_sum({0}, include_initial=True)
    np.cumulative_prod({0}[:5], include_initial=True)
    np.cumulative_prod({0}[:4])
    np.block([{0}, 2, {0}[:1]])
    np.block([[{0}], [{0} * 2]])
    np.vecdot({0}, {0})
    np.add.reduceat({0}, [0, {0}.size - 1])
    np.maximum.reduceat({0}, [0, 0])
    np.add.reduceat({0}, np.arange(0, {0}.size, 3))
    np.minimum.reduceat({0}, np.arange({0}.size))
"""
_ROWS = """
    {0}[np.ix_({0}[:, 0] > 1, [0])]
    np.lib.stride_tricks.sliding_window_view({0}, (2, 1)).sum((-1, -2))
    np.lib.stride_tricks.sliding_window_view({0}, 1, axis=1)
    np.lib.stride_tricks.sliding_window_view({0}, (1, 2), axis=(0, 0))
    np.vsplit({0}, 2)[1]
    np.hsplit({0}, [1])[0]
    np.dsplit({0}[:, :, None], [1])[0]
    np.gradient({0}, axis=1)
    np.gradient({0}, axis=0)[1]
    np.cumulative_sum({0}, axis=0, include_initial=True)
    np.unstack({0})[1]
    np.unstack({0}.T, axis=1)[0]
    np.block([[{0}, {0}[:, :1]], [{0}[:1], 7]])
    np.vecdot({0}, {0}, axis=0)
    np.matvec({0}, {0}[0])
    np.vecmat({0}[:, 0], {0})
    np.matvec({0}[None], {0})
    np.add.reduceat({0}, [0, 1], axis=0)
    np.multiply.reduceat({0}, [1, 0], axis=0)
"""
FORMS = (*forms(_LINE, LINE), *forms(_ROWS, ROWS))


def listed(d, values):
    """A form of a line or of rows made of any array."""
    name, form = d.pick(FORMS)
    k = values.any()
    if isinstance(values.values[k], int | float | complex) or not values.arrays[k].size:
        return None
    return Step(name, form, (k,))
