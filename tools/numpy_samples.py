"""Sample calls of NumPy's functions, as text, for the page that `tools.numpy_page` writes."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

_GRID: Final = np.arange(16.0).reshape(4, 4) / 16
ARRAYS: Final[dict[str, np.ndarray]] = {
    "x": _GRID + _GRID.T + 9 * np.eye(4),  # positive definite
    "y": _GRID + 1,
    "v": np.array([3.0, 1.0, 2.0, 5.0]),
    "i": np.array([2, 0, 1, 3]),
    "b": np.array([True, False, True, True]),
}
"""The arguments of all sample calls, by name."""
USUAL: Final = (
    *("(x)", "(x, y)", "(v)", "(v, v)", "(i)", "(i, i)", "(b)", "(b, b)", "(v, 1)", "(x, 1)"),
    *("(x, 1, 0)", "(v, v, v)", "(x, v)", "(x, (4, 4))", "((4, 4))"),
)
"""Arguments that are tried, with NumPy, for a function without a line in `SAMPLES`."""
_NUMPY: Final = """
apply_along_axis(np.sum, 0, x)
apply_over_axes(np.sum, x, (0, 1))
arange(4)
array_split(x, 2)
astype(x, np.float32)
bartlett(4)
base_repr(5)
binary_repr(5)
blackman(4)
bmat([[x, y]])
broadcast_shapes((4, 1), (4,))
broadcast_to(v, (4, 4))
busday_count('2020-01-01', '2020-02-01')
busday_offset('2020-01-01', 1)
can_cast(np.float32, np.float64)
choose(i, (v, v, v, v))
compress(b, v)
convolve(v, v)
cross(x[:, :3], y[:, :3])
datetime_as_string(np.datetime64('2020-01-01'))
datetime_data(np.dtype('M8[D]'))
delete(v, 1)
diag_indices(4)
digitize(v, np.array([1.0, 2.0]))
dsplit(x.reshape(2, 2, 4), 2)
einsum('ij,jk->ik', x, y)
einsum_path('ij,jk->ik', x, y)
empty((4, 4))
empty_like(x)
extract(b, v)
eye(4)
fill_diagonal(x, 1.0)
format_float_positional(0.5)
format_float_scientific(0.5)
frombuffer(b'12345678')
fromfile('file')
fromfunction(lambda a, b: a + b, (4, 4))
fromiter([1.0, 2.0], float)
frompyfunc(abs, 1, 1)(v)
fromregex('file', 'a', float)
fromstring('1 2', sep=' ')
full((4, 4), 3.0)
full_like(x, 3.0)
genfromtxt('file')
geomspace(1.0, 8.0, 4)
get_include()
get_printoptions()
getbufsize()
geterr()
geterrcall()
hamming(4)
hanning(4)
hsplit(x, 2)
identity(4)
indices((4, 4))
info(x)
insert(v, 1, 3.0)
interp(v, v, v)
is_busday('2020-01-01')
isdtype(np.dtype(float), 'real floating')
isin(i, i)
isnat(np.array(['2020-01-01'], 'M8[D]'))
issubdtype(np.float32, np.floating)
kaiser(4, 2.0)
kron(x, y)
linspace(0.0, 1.0, 4)
load('file')
loadtxt('file')
logspace(0.0, 1.0, 4)
mask_indices(4, np.triu)
mintypecode('d')
moveaxis(x, 0, 1)
nested_iters(x, [[0], [1]])
ones((4, 4))
pad(x, 1)
partition(v, 1)
argpartition(v, 1)
percentile(x, 50)
nanpercentile(x, 50)
quantile(x, 0.5)
nanquantile(x, 0.5)
piecewise(v, [v > 2], [1.0, 2.0])
place(v, b, v)
polyfit(v, v, 2)
printoptions()
promote_types(np.float32, np.float64)
put(v, i, v)
put_along_axis(v, i, v, 0)
putmask(v, b, v)
ravel_multi_index((i, i), (4, 4))
repeat(v, 2)
reshape(x, (2, 8))
resize(x, (2, 2))
result_type(x, y)
roll(x, 1)
rollaxis(x, 1)
rot90(x)
save('file', x)
savetxt('file', x)
savez('file', x)
savez_compressed('file', x)
searchsorted(v, v)
select([v > 2], [v], 0.0)
set_printoptions(precision=3)
setbufsize(8192)
seterr(all='ignore')
seterrcall(None)
show_config()
show_runtime()
split(x, 2)
swapaxes(x, 0, 1)
take(x, i, 0)
take_along_axis(v, i, 0)
tensordot(x, y, 1)
test()
tile(x, 2)
tri(4)
tril_indices(4)
triu_indices(4)
typename('d')
unpackbits(b.astype(np.uint8))
unravel_index(i, (4, 4))
vander(v)
vsplit(x, 2)
where(x > 1, x, y)
zeros((4, 4))
"""
_LINALG: Final = """
cross(x[:, :3], y[:, :3])
matrix_power(x, 3)
multi_dot([x, y, x])
tensorinv(x.reshape(4, 2, 2), 1)
tensorsolve(x, v)
tensordot(x, y, axes=1)
"""
_FFT: Final = """
fftfreq(4)
rfftfreq(4)
"""
_NDARRAY: Final = """
argpartition(1)
astype(np.float32)
choose((v, v, v, v))
compress(b, 0)
dot(y)
dump('file')
fill(1.0)
flags.c_contiguous
flat[1:3]
getfield(np.float32)
item(0)
partition(1)
put(i, v)
repeat(2)
reshape(2, 8)
resize((2, 2))
searchsorted(v)
setfield(1.0, np.float64)
setflags()
swapaxes(0, 1)
take(i, 0)
to_device('cpu')
tofile('file')
view(np.int64)
"""
_OF_NDARRAY: Final = {"choose": "i", "searchsorted": "v", "fill": "x"}
"""The array whose method is called, if not `x`."""


def _by_name(lines: str) -> dict[str, str]:
    return {re.split(r"\W", line)[0]: line for line in lines.split("\n") if line}


SAMPLES: Final[dict[str, dict[str, str]]] = {
    "numpy": _by_name(_NUMPY),
    "numpy.linalg": _by_name(_LINALG),
    "numpy.fft": _by_name(_FFT),
}
"""Calls of functions that need other arguments than the usual ones, or that must not be run."""


def call_of_method(name: str) -> str:
    """The sample call of a method, or the sample read of an attribute, of an array."""
    array = _OF_NDARRAY.get(name, "x")
    plain = f"{name}()" if callable(getattr(np.ndarray, name)) else name
    return f"{array}.{_by_name(_NDARRAY).get(name, plain)}"


METHOD_ARGUMENTS: Final = {
    "reduce": ("(x)", "(i)"),
    "accumulate": ("(v)", "(i)"),
    "reduceat": ("(v, [0, 2])", "(i, [0, 2])"),
    "outer": ("(v, v)", "(i, i)", "(i, v)", "(v, i)"),
    "at": ("(v, i, v)", "(i, i, i)", "(v, i)", "(i, i)", "(v, i, i)"),
}
"""Arguments that are tried, with NumPy, for each method of ufuncs."""
