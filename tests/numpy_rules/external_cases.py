"""Public functions of NumPy that take one array, and arrays to call them with."""

import numpy as np

SKIPPED = {
    *("test", "save", "savez", "savez_compressed", "savetxt", "load", "info", "show_config"),
    *("show_runtime", "set_printoptions", "setbufsize", "seterr", "seterrcall", "fromfile"),
    *("loadtxt", "genfromtxt", "frompyfunc", "printoptions", "get_include", "geterrcall"),
    *("empty", "empty_like", "errstate", "nditer", "typename", "mintypecode", "frombuffer"),
}
"""What writes or reads files, changes settings, takes letters, or gives memory as it is."""
_DRAWN = np.random.default_rng(0)
ARRAYS = {
    "float64": _DRAWN.uniform(0.5, 2, (6, 6)),
    "row": np.sort(_DRAWN.uniform(-1, 2, 7)),
    "int64": _DRAWN.integers(0, 9, (6, 5)),
    "bool": _DRAWN.integers(0, 2, (6, 6)) > 0,
    "complex": _DRAWN.normal(size=(6, 6)) + 1j,
    "Fortran": np.asfortranarray(_DRAWN.uniform(0.5, 2, (5, 6)).astype("f4")),
    "backward": _DRAWN.uniform(0.5, 2, (6, 10))[::-1, ::2],
}


def functions():
    """All public functions and ufuncs of numpy, numpy.linalg and numpy.fft, by name."""
    found = {}
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name in dir(module):
            function = getattr(module, name)
            plain = callable(function) and not isinstance(function, type)
            if plain and not name.startswith("_") and name not in SKIPPED:
                found[prefix + name] = function
    return found


def flat(value):
    """The leaves of tuples and lists."""
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in flat(part)]
    return [value]


def difference(found, wanted):
    """What differs between what two calls gave; None if nothing does."""
    found, wanted = flat(found), flat(wanted)
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    for one, want in zip(found, wanted, strict=True):
        number = isinstance(want, int | float | complex)
        if not (number or isinstance(want, np.ndarray | np.generic)):
            if type(one) is not type(want):
                return f"a {type(one)}, not a {type(want)}"
            continue
        one, want = np.asarray(one), np.asarray(want)
        if (one.dtype, one.shape) != (want.dtype, want.shape):
            return f"{one.dtype}{one.shape}, not {want.dtype}{want.shape}"
        near = want.dtype.kind in "biufc"
        if near and not np.allclose(one, want, equal_nan=True, rtol=1e-5):
            return f"{one}, not {want}"
    return None
