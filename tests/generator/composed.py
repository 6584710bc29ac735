"""Functions of NumPy that are composed of rows of the table: of elements, repeated, and folds."""

from axiomjit.numpy_rules.statistics import NAN_FOLDS
from tests.generator.operations import axes_of
from tests.generator.programs import Step
from tests.generator.steps import LINE, ROWS, forms

_ANY = """
    round({0})
    round({0}, 1)
    around({0}, decimals=-1)
    nan_to_num({0})
    nan_to_num({0}, nan=2.0, posinf=7, neginf=-0.5)
    isclose({0}, 1)
    isclose({0}, {0}[..., ::-1], rtol=0.25, equal_nan=True)
    where(np.allclose({0}, {0}[..., ::-1], rtol=0.5), {0}, -1)
    multiply({0}, np.array_equal({0}, {0}[..., ::-1], equal_nan=True))
    add(np.array_equiv({0}, {0}[..., :1]), [np.array_equal({0}, {0}[..., 1:])])
    angle({0} * 0)
    tile({0}, 2)
    tile({0}, (2, 1))
    repeat({0}, 2)
    repeat({0}, 3, axis=0)
    tril({0})
    tril({0}, -1)
    triu({0}, 1)
"""
"""Each element is computed alone and is exact, so that layouts cannot matter."""
_REAL = """
    isposinf({0}.real)
    isneginf({0}.real)
    {0}.real.round(2)
    sinc({0}.real * 0)
    {0}.real.repeat(2, axis=-1)
"""
_BITS = """
    {0}.real.view('u%d' % {0}.real.itemsize) >> 1
    {0}.real.view('i%d' % {0}.real.itemsize)[..., ::-1]
    {0}.real.view({0}.real.dtype)
"""
_LINE = """
    average({0})
    average({0}, weights={0})
    average({0}, axis=0, weights={0}[::-1], returned=True)[1]
    cov({0}[:1] * 2.0, ddof=0)
    cov({0}[[0, 0]], {0}[[-1, -1]])
    corrcoef([1.0, 3.0], {0}[0] + np.array([1, 3]))
"""
_ROWS = """
    average({0}, axis=1)
    average({0}, 0, weights=[1, 3])
    average({0}, axis=1, returned=True)[1]
    cov({0}[:, [0, 0]])
    cov({0}, rowvar=False)
    corrcoef({0}[:, :1] + np.array([1.0, 5.0]))
"""
FOLDS = tuple(function.__name__ for function in NAN_FOLDS)


def _forms(text, operand):
    return [
        (name, form if form.startswith("(") or form.startswith("{") else f"np.{form}")
        for name, form in forms(text, operand)
    ]


FORMS = (
    *_forms(_ANY, "{0}"),
    *_forms(_REAL, "{0}"),
    *_forms(_BITS, "{0}"),
    *_forms(_LINE, LINE),
    *_forms(_ROWS, ROWS),
)


def composed(d, values):
    """A function that is composed of rows, of an array of any layout and dtype."""
    k = values.any()
    array = values.arrays[k]
    if isinstance(values.values[k], int | float | complex) or not array.size:
        return None
    if d.chance(0.6):
        name, form = d.pick(FORMS)
        return Step(name, form, (k,))
    name, options = d.pick(FOLDS), {"axis": axes_of(d, array.ndim)}
    if d.chance(0.4):
        options["keepdims"] = True
    if name in ("nansum", "nanprod", "nanmean", "nanvar", "nanstd") and d.chance(0.2):
        options["dtype"] = "c16" if array.dtype.kind == "c" else "f8"
    if name in ("nanvar", "nanstd") and d.chance(0.3):
        options["ddof"] = d.between(0, 2)
    return Step(name, f"np.{name}({{0}}{{options}})", (k,), tuple(options.items()))
