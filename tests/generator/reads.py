"""Steps that read elements at positions and by masks."""

from tests.generator.programs import Step


def positions_in(d, n):
    """Positions in a dimension, negative ones and repeated ones among them."""
    count = d.below(4) if n else 0
    return [d.between(-n, n - 1) for _ in range(count)]


def read(d, values):
    """A gather, or what a mask chooses."""
    k = values.among(lambda a: a.ndim > 0)
    if k is None:
        return None
    array = values.arrays[k]
    return d.pick((_at_positions, _at_positions, _masked, _masked, _found, _along))(
        d, values, k, array
    )


def _at_positions(d, values, k, array):
    """Elements at integers: literal ones, those of another value, or through np.take."""
    axis = d.below(array.ndim)
    n = array.shape[axis]
    before = "" if axis == 0 else "..., " if axis == array.ndim - 1 else ":, " * axis
    found = positions_in(d, n)
    integers = values.among(lambda a: a.dtype.kind in "iu" and 0 < a.ndim <= 2)
    if integers is not None and n and d.chance(0.6):
        return Step("index", f"{{0}}[{before}{{1}} % {n}]", (k, integers))
    if d.chance(0.3):
        options = (("axis", axis), ("mode", d.pick(("raise", "wrap", "clip"))))
        return Step("take", "np.take({0}, {1}{options})", (k, tuple(found)), options)
    if d.chance(0.3) and array.ndim > 1 and axis < array.ndim - 1:
        other = [d.between(-array.shape[-1], max(array.shape[-1] - 1, 0)) for _ in found]
        return Step("index", f"{{0}}[{before}{found}, ..., {other}]", (k,))
    return Step("index", f"{{0}}[{before}{found}]", (k,))


def _masked(d, values, k, array):
    """What a mask chooses: one of a value's own, or another value."""
    mask = values.among(
        lambda a: a.dtype.kind == "b" and a.ndim and a.shape == array.shape[: a.ndim]
    )
    if mask is not None and d.chance(0.6):
        return Step("index", "{0}[{1}]", (k, mask))
    if d.chance(0.3):
        return Step("extract", "np.extract({0} != 1, {0})", (k,))
    if d.chance(0.5) and array.ndim == 2 and array.shape[1]:
        return Step("compress", "np.compress({0}[..., 0] != 1, {0}, axis=0)", (k,))
    return Step("index", "{0}[{0} != 1]", (k,))


def _found(d, values, k, array):
    """Where elements are not zero, or how often numbers occur."""
    integers = values.among(lambda a: a.dtype.kind in "iu" and a.ndim == 1)
    if integers is not None and d.chance(0.4):
        return Step("bincount", "np.bincount({0} % 7)", (integers,))
    name, form = d.pick(
        (
            ("nonzero", f"np.nonzero({{0}})[{d.below(array.ndim)}]"),
            ("nonzero", f"np.where({{0}} != 2)[{d.below(array.ndim)}]"),
            ("flatnonzero", "np.flatnonzero({0})"),
            ("argwhere", "np.argwhere({0})"),
        )
    )
    return Step(name, form, (k,))


def _along(d, values, k, array):
    """Positions of their own for each row."""
    axis = d.below(array.ndim)
    rest = array.shape[:axis] + array.shape[axis + 1 :]
    integers = values.among(
        lambda a: (
            a.dtype.kind in "iu"
            and a.ndim == array.ndim
            and a.shape[:axis] + a.shape[axis + 1 :] == rest
        )
    )
    if integers is None or not array.shape[axis]:
        return None
    form = f"np.take_along_axis({{0}}, {{1}} % {array.shape[axis]}{{options}})"
    return Step("take_along_axis", form, (k, integers), (("axis", axis),))
