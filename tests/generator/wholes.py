"""Steps that need entire arrays: folds, scans, sorting, places of extremes, taking by position."""

from axiomjit.numpy_rules.library import FUNCTIONS, METHODS, SCANS
from tests.generator.folds import ACCUMULATORS, OPERANDS, RESULTS, is_exact
from tests.generator.programs import Step

NAMES = [*(function.__name__ for function in FUNCTIONS), "accumulate", "take"]
NAMES = [name for name in NAMES if not name.startswith("cumulative")]  # forms of `listed`
RUNNING = {"add": "cumsum", "multiply": "cumprod", "maximum": "max", "minimum": "min"}
"""What decides whether a running fold by a ufunc has one result."""
assert {ufunc.__name__ for ufunc in SCANS} == set(RUNNING)


def whole(d, values):
    """A function of entire arrays."""
    name, k = d.pick(NAMES), values.any()
    array = values.arrays[k]
    axis = d.between(-array.ndim, array.ndim - 1) if array.ndim else 0
    options = {} if d.chance(0.2) else {"axis": axis if d.chance(0.8) and array.ndim else None}
    operands = (k,)
    if name == "accumulate":
        ufunc = d.pick(list(RUNNING))
        options = (("axis", axis),) if array.ndim and d.chance(0.8) else ()
        return Step(RUNNING[ufunc], f"np.{ufunc}.accumulate({{0}}{{options}})", (k,), options)
    if name == "take":
        positions = values.among(lambda a: a.dtype.kind in "iu" and a.ndim <= 2)
        # NumPy does not ask the positions whether they stand for an array, if the values do not.
        number = isinstance(values.values[k], int | float | complex)
        if positions is None or number or d.chance(0.4):
            n = array.size if options.get("axis") is None else array.shape[axis]
            positions = d.between(-n, n - 1) if n else 0
        operands = (k, positions)
    elif name in ("cumsum", "cumprod") and d.chance(0.3):
        codes = ("c8", "c16") if array.dtype.kind == "c" else ("i8", "i2", "f4", "f8", "c16")
        options["dtype"] = d.pick(codes)
    elif name in ("argmax", "argmin") and d.chance(0.3):
        options["keepdims"] = True
    form = f"np.{name}({{many}}{{options}})"
    if name in (*METHODS, "take") and d.chance(0.3):
        form = f"{{0}}.{name}({{1}}{{options}})" if name == "take" else f"{{0}}.{name}({{bare}})"
    return Step(name, form, operands, tuple(options.items()))


def folded(d, values):
    """A fold or a scan by an accumulator of a user."""
    name = d.pick(list(ACCUMULATORS))
    one = values.among(lambda a: is_exact(name, [a]))
    if one is None:
        return None
    array, operands = values.arrays[one], [one]
    while len(operands) < OPERANDS.get(name, 1):
        other = values.among(lambda a: a.dtype == array.dtype and a.shape == array.shape)
        operands.append(other if d.chance(0.7) else one)
    if any(isinstance(values.values[k], int | float | complex) for k in operands):
        return None
    running = array.ndim > 0 and d.chance(0.4)
    axes = d.below(array.ndim) if running else None
    if not running and array.ndim and d.chance(0.8):
        axes = tuple(d.order(d.some(range(array.ndim))))
        axes = axes[0] - array.ndim if len(axes) == 1 and d.chance(0.5) else axes
    options = {"acc": name, "axes": axes} | ({"running": True} if running else {})
    part = f"[{d.below(RESULTS[name])}]" if name in RESULTS else ""
    form = f"folds.fold({{many}}{{options}}){part}"
    return Step("fold", form, tuple(operands), tuple(options.items()))
