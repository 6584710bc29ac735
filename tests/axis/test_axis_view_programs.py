"""Random programs of views, joins, windows and folds along axes mean what NumPy does."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit as aj
from tests.axis.running import evaluated, planned
from tests.axis.test_axis_slices import run


def along(array, k, item):
    """An item of one dimension."""
    return array[(*[slice(None)] * k, item)]


class Steps:
    """Steps of a program, each on a tensor and on an array."""

    def __init__(self, draw):
        self.draw = draw

    def axis(self, x):
        k = self.draw(st.integers(0, len(x.axes) - 1))
        return k, x.axes[k]

    def part(self, x, a):
        k, axis = self.axis(x)
        item = self.draw(st.one_of(st.slices(a.shape[k]), st.integers(-a.shape[k], a.shape[k] - 1)))
        return x[{axis: item}], along(a, k, item)

    def pad(self, x, a):
        widths = [self.draw(st.tuples(st.integers(0, 2), st.integers(0, 2))) for _ in x.axes]
        return aj.pad(x, widths), np.pad(a, widths)

    def order(self, x, a):
        order = self.draw(st.permutations(range(a.ndim)))
        return aj.axes_with_order(x, [x.axes[k] for k in order]), a.transpose(order)

    def flatten(self, x, a):
        low, axis = self.axis(x)
        high = self.draw(st.integers(low + 1, a.ndim))
        shape = (*a.shape[:low], -1, *a.shape[high:])
        shape = [int(np.prod(a.shape[low:high])) if n == -1 else n for n in shape]
        return aj.flatten(x, x.axes[low:high]), a.reshape(shape)

    def unflatten(self, x, a):
        whole = aj.unflatten(x)
        return whole, a.reshape(whole.axes.lengths)

    def stack(self, x, a):
        pos = self.draw(st.integers(0, a.ndim))
        return aj.stack([x, x * 2, x - 1], aj.make_axis(3), pos), np.stack([a, a * 2, a - 1], pos)

    def concat(self, x, a):
        k, axis = self.axis(x)
        item = self.draw(st.slices(a.shape[k]))
        part = x[{axis: item}] * 2
        joined = aj.concat_along_axis([part, x], part.axes[k])
        return joined, np.concatenate([along(a, k, item) * 2, a], k)

    def expand(self, x, a):
        pos = self.draw(st.integers(0, a.ndim))
        return aj.expand_dims(x, aj.make_axis(2), pos), np.repeat(np.expand_dims(a, pos), 2, pos)

    def change(self, x, a):
        return x * 2 + 1, a * 2 + 1

    def fold(self, x, a):
        k, axis = self.axis(x)
        return aj.sum(x, axis), a.sum(k)

    def differences(self, x, a):
        k, axis = self.axis(x)
        later, sooner = x[{axis: slice(1, None)}], x[{axis: slice(None, -1)}]
        labels = aj.cast_axes(sooner, later.axes)
        return later - labels, np.diff(a, axis=k)

    def order_along(self, x, a):
        k, axis = self.axis(x)
        return aj.sort(x, axis), np.sort(a, k)

    def running(self, x, a):
        k, axis = self.axis(x)
        return aj.cumsum(x, axis), np.cumsum(a, k)

    def take(self, x, a):
        k, axis = self.axis(x)
        places = self.draw(st.lists(st.integers(-a.shape[k], a.shape[k] - 1), max_size=4))
        index = aj.constant(np.array(places, int), [aj.make_axis(len(places))])
        return aj.take(x, index, axis), np.take(a, np.array(places, int), k)

    def pool(self, x, a):
        k, axis = self.axis(x)
        window, stride = self.draw(st.integers(1, a.shape[k])), self.draw(st.integers(1, 3))
        seen = along(sliding_window_view(a, window, axis=k), k, slice(None, None, stride))
        return aj.pooling(x, {axis: window}, strides=stride), seen.max(-1)

    def filter(self, x, a):
        k, axis = self.axis(x)
        pads = self.draw(st.tuples(st.integers(0, 2), st.integers(0, 2)))
        length = self.draw(st.integers(1, a.shape[k] + sum(pads)))
        role = aj.make_axis_role()
        axis.add_role(role)
        weights = np.arange(1.0, length + 1)
        filters = aj.constant(weights, [aj.make_axis(length, roles=role)])
        padded = np.pad(a, [pads if d == k else (0, 0) for d in range(a.ndim)])
        seen = sliding_window_view(padded, length, axis=k)
        return aj.convolution(x, filters, padding=pads), seen @ weights


NAMES = sorted(name for name in vars(Steps) if not name.startswith("_") and name != "axis")
RANKED = {"stack", "expand", "change", "unflatten"}
FULL = {"take", "pool", "filter", "part", "differences"}


def fits(name, a):
    """Whether a step can be taken: it may need an axis, or elements."""
    return name in RANKED or (a.ndim > 0 and (name not in FULL or a.size > 0))


@st.composite
def programs(draw):
    """A placeholder and its values, a tensor that depends on it, and what NumPy makes of it."""
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    axes = [aj.make_axis(name=f"x{k}") for k in range(len(shape))]
    late = draw(st.booleans())
    given_x = aj.placeholder(axes)
    if not late:
        aj.make_axes(axes).set_shape(shape)
    values = np.random.default_rng(draw(st.integers(0, 9))).integers(-4, 5, shape) * 1.0
    x, a = given_x, values
    steps, taken = Steps(draw), []
    if late:  # what needs no lengths comes before they are known
        x, a = aj.pad(x[{axes[0]: slice(1, None)}], [1] * len(axes)), values[1:]
        a, x = np.pad(a, 1) * 2, x * 2
        aj.make_axes(axes).set_shape(shape)
    for _ in range(draw(st.integers(1, 5))):
        name = draw(st.sampled_from([n for n in NAMES if fits(n, a)]))
        if a.size > 4000 or a.ndim > 5:
            break
        x, a = getattr(steps, name)(x, a)
        taken.append(name)
    return given_x, values, x, a, taken


SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@settings(max_examples=150, deadline=None, suppress_health_check=SLOW)
@given(programs())
def test_programs_mean_what_numpy_does(program):
    placeholder, values, x, want, taken = program
    assert x.axes.lengths == want.shape, taken
    for runner in (evaluated, planned):
        with runner():
            got = run(x, (placeholder, values))
        np.testing.assert_allclose(got, want, rtol=1e-12, err_msg=f"{runner.__name__}: {taken}")


@pytest.mark.parametrize(
    ("shape", "part", "places", "along", "pads", "length"),
    [
        # a join along the window, whose iterators do not split it
        ((1, 1), (1, slice(None)), (0, [0]), 1, (1, 2), 3),
        # the padding lies outside all parts of the join
        ((2, 3), (0, slice(1, 0, -1)), (1, [-3, -3]), 0, (0, 1), 1),
        # the gather is along the window
        ((1, 2, 2), (0, slice(None)), (1, [0, -2]), 1, (1, 0), 3),
    ],
)
def test_a_filter_over_a_gather_from_a_join(shape, part, places, along, pads, length):
    axes = [aj.make_axis(n, name=f"x{k}") for k, n in enumerate(shape)]
    placeholder, values = aj.placeholder(axes), np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
    x, a = placeholder, values
    for step, d, *drawn in (
        (Steps.concat, *part),
        (Steps.take, *places),
        (Steps.filter, along, pads, length),
    ):
        left = iter(drawn)
        steps = Steps(lambda _, left=left: next(left))
        steps.axis = lambda x, d=d: (d, x.axes[d])
        x, a = step(steps, x, a)
    with planned():
        got = run(x, (placeholder, values))
    np.testing.assert_array_equal(got, a)
