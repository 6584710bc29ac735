"""What the tests of ufunc steps share: operands of every layout, and a comparison with NumPy."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import GraphTypeError

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: np.asfortranarray(x),
    "stepped": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backward": lambda x: x[::-1],
    "stretched": lambda x: np.broadcast_to(x[0], x.shape),
    "empty": lambda x: x[:0],
}


def operands(ufunc, dtype, layout):
    """As many arrays as the ufunc takes, of shapes that broadcast."""
    values = np.linspace(0.25, 3, 20).reshape(5, 4).astype(dtype)
    second = LAYOUTS[layout](values) if layout != "empty" else values[:1]
    return [LAYOUTS[layout](values), second, values[0], values[:1]][: ufunc.nin]


def as_tuple(value):
    return value if isinstance(value, tuple) else (value,)


def check(function, arrays):
    wanted = as_tuple(function(*(a.copy(order="K") for a in arrays)))
    f = axiomjit.jit(function)
    for _ in range(2):
        found = as_tuple(f(*arrays))
        for one, want in zip(found, wanted, strict=True):
            assert one.dtype == want.dtype
            np.testing.assert_array_equal(one, want)
    return found, wanted


def check_every_layout(ufunc, dtype):
    """Compare the ufunc with NumPy in each layout; dtypes that NumPy refuses are refused."""
    for layout in LAYOUTS:
        arrays = operands(ufunc, dtype, layout)
        try:
            ufunc(*arrays)
        except TypeError:
            with pytest.raises(GraphTypeError):
                axiomjit.jit(lambda *a: ufunc(*a))(*arrays)
            continue
        found, wanted = check(lambda *a: ufunc(*a), arrays)
        if layout in "CF":
            assert [a.strides for a in found] == [a.strides for a in wanted]
