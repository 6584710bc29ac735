"""Lengths stay symbolic: functions that compute with them are followed for few of their values."""

import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit as aj
from axiomjit.base.errors import RetraceWarning
from axiomjit.dispatch.caches import MAX_PROGRAMS

pytestmark = pytest.mark.usefixtures("in_numpy")

LENGTHS = (23, 57, 10, 141, 6, 88, 35, 1000, 19, 512, 64, 7)
WIDTHS = (8, 14, 6, 30, 26, 18, 12, 22, 44, 10, 16, 36)
RNG = np.random.default_rng(0)
VECTORS = [RNG.normal(size=n) for n in LENGTHS]
MATRICES = [RNG.normal(size=shape) for shape in zip(LENGTHS, WIDTHS, strict=True)]


def inner(x, new):
    new[1:-1] = x[2:] + x[:-2]
    return new


def filled(new, *writes):
    for key, value in writes:
        new[key] = value
    return new


def total_by_length(x):
    return x.sum() / len(x)


MEASURE = len
X = VECTORS[0]
OF_VECTORS = {
    "sum/len": lambda x: x.sum() / len(x),
    "shape/len": lambda x: x * (x.shape[0] / len(x)),
    "mean by size": lambda x: x.sum() / x.size,
    "1/n": lambda x: x * (1 / x.size),
    "1.0/n": lambda x: x * (1.0 / x.size),
    "sqrt n": lambda x: x / np.sqrt(x.size),
    "n**0.5": lambda x: x / x.size**0.5,
    "n**2": lambda x: x / x.size**2,
    "log n": lambda x: x / np.log(x.size),
    "h=1/(n-1)": lambda x: (x[1:] - x[:-1]) * (x.shape[0] - 1),
    "len//2": lambda x: x[: len(x) // 2],
    "n//2": lambda x: x[: x.size // 2] * 2,
    "n//2 rest": lambda x: x[x.size // 2 :] * 2,
    "x[n//2]": lambda x: x[x.size // 2] * 2,
    "x[len-1]": lambda x: x[len(x) - 1] * 2,
    "x[-n:]": lambda x: x[-x.size :] * 2,
    "arange(n)": lambda x: x * np.arange(x.size),
    "arange(len)": lambda x: x * np.arange(len(x)),
    "arange(1,n+1)": lambda x: x * np.arange(1, len(x) + 1),
    "arange(0.,n)": lambda x: x * np.arange(0.0, len(x)),
    "arange(n-1,-1,-1)": lambda x: x * np.arange(len(x) - 1, -1, -1),
    "arange(n)/n": lambda x: x * (np.arange(len(x)) / len(x)),
    "linspace": lambda x: x * np.linspace(0, 1, x.size),
    "linspace noendp": lambda x: x * np.linspace(0, 1, len(x), endpoint=False),
    "linspace(0,n)": lambda x: np.linspace(0, x.size, 4) + x[0],
    "full(n)": lambda x: np.full(x.size, 2.0) + x,
    "ones(n)": lambda x: np.ones(len(x)) + x,
    "zeros(n)": lambda x: np.zeros(len(x)) + x,
    "reshape(n,-1)": lambda x: x.reshape(x.size, -1) * 2,
    "reshape(-1,1)": lambda x: x.reshape(-1, 1) * 2,
    "reshape(1,-1)": lambda x: x.reshape(1, -1) * 2,
    "x[:,None]": lambda x: x[:, None] - x[None, :],
    "pad": lambda x: np.pad(x, 1),
    "pad edge": lambda x: np.pad(x, 2, mode="edge"),
    "pad wrap": lambda x: np.pad(x, 2, mode="wrap"),
    "pad reflect": lambda x: np.pad(x, 2, mode="reflect"),
    "roll": lambda x: np.roll(x, 1) + x,
    "roll n//2": lambda x: np.roll(x, x.size // 2) + x,
    "x[::2]": lambda x: x[::2] * 2,
    "x[::-1]": lambda x: x[::-1] * 2,
    "x[1::2]": lambda x: x[1::2] * 2,
    "x[:n//2*2:2]": lambda x: x[: x.size // 2 * 2 : 2] + x[1 : x.size // 2 * 2 : 2],
    "::2 + 1::2": lambda x: x[: len(x) // 2 * 2].reshape(-1, 2).sum(1),
    "fwd diff": lambda x: x[1:] - x[:-1],
    "concat": lambda x: np.concatenate([x, x[::-1]]),
    "concat0": lambda x: np.concatenate([[0.0], x]),
    "append": lambda x: np.append(x, 0.0),
    "hstack": lambda x: np.hstack([x, x]),
    "vstack": lambda x: np.vstack([x, x]),
    "stack": lambda x: np.stack([x, x], axis=1),
    "column_stack": lambda x: np.column_stack([x, x]),
    "eye": lambda x: np.eye(x.size) * x,
    "identity": lambda x: np.identity(len(x)) * x,
    "diag": lambda x: np.diag(x),
    "diagflat": lambda x: np.diagflat(x, 1),
    "tril(outer)": lambda x: np.tril(np.outer(x, x)),
    "triu k": lambda x: np.triu(np.outer(x, x), 1),
    "convolve same": lambda x: np.convolve(x, np.array([0.25, 0.5, 0.25]), "same"),
    "convolve full": lambda x: np.convolve(x, np.array([0.25, 0.5, 0.25])),
    "convolve valid": lambda x: np.convolve(x, np.array([0.25, 0.5, 0.25]), "valid"),
    "correlate": lambda x: np.correlate(x, x, "full"),
    "mean": lambda x: x.mean(),
    "var": lambda x: x.var(),
    "std": lambda x: (x - x.mean()) / x.std(ddof=1),
    "add.reduce": lambda x: np.add.reduce(x),
    "diff": lambda x: np.diff(x),
    "diff2": lambda x: np.diff(x, 2),
    "diff prepend": lambda x: np.diff(x, prepend=0.0),
    "cumsum": lambda x: np.cumsum(x),
    "cumprod": lambda x: np.cumprod(x),
    "cummean": lambda x: np.cumsum(x) / np.arange(1, len(x) + 1),
    "moving avg": lambda x: (lambda c: (c[3:] - c[:-3]) / 3)(np.cumsum(x)),
    "outer": lambda x: np.outer(x, x),
    "meshgrid": lambda x: np.meshgrid(x, x)[0],
    "broadcast_to": lambda x: np.broadcast_to(x, (3, x.size)) * 2,
    "broadcast_to2": lambda x: np.broadcast_to(x[:, None], (len(x), 3)) * 2,
    "tile": lambda x: np.tile(x, 3),
    "tile2": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 3),
    "where": lambda x: np.where(x > 0, x, 0),
    "clip": lambda x: x.clip(0, 1),
    "max": lambda x: x - x.max(),
    "argmax": lambda x: x.argmax(),
    "sort": lambda x: np.sort(x),
    "median": lambda x: np.median(x),
    "percentile": lambda x: np.percentile(x, 90),
    "quantile": lambda x: np.quantile(x, 0.3),
    "interp": lambda x: np.interp(x, np.arange(5.0), np.arange(5.0)),
    "gradient": lambda x: np.gradient(x),
    "trapezoid": lambda x: np.trapezoid(x),
    "trapezoid dx": lambda x: np.trapezoid(x, dx=1 / len(x)),
    "polyval": lambda x: np.polyval([1.0, 2.0, 3.0], x),
    "vander": lambda x: np.vander(x, 3),
    "fft": lambda x: np.fft.fft(x),
    "rfft": lambda x: np.abs(np.fft.rfft(x)) ** 2 / len(x),
    "irfft n": lambda x: np.fft.irfft(np.fft.rfft(x), len(x)),
    "fftfreq": lambda x: np.fft.fft(x) * np.fft.fftfreq(len(x)),
    "rfftfreq": lambda x: np.fft.rfft(x) * np.fft.rfftfreq(x.size),
    "fftshift": lambda x: np.fft.fftshift(x),
    "fft n=2n": lambda x: np.fft.rfft(x, 2 * len(x)),
    "autocorr": lambda x: (lambda f: np.fft.irfft(f * f.conj())[: len(x)])(
        np.fft.rfft(x, 2 * len(x))
    ),
    "hanning": lambda x: x * np.hanning(len(x)),
    "hamming": lambda x: x * np.hamming(len(x)),
    "blackman": lambda x: x * np.blackman(len(x)),
    "bartlett": lambda x: x * np.bartlett(len(x)),
    "window by hand": lambda x: (
        x * (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(len(x)) / (len(x) - 1)))
    ),
    "sliding": lambda x: sliding_window_view(x, 3).mean(-1),
    "flip": lambda x: np.flip(x),
    "split idx": lambda x: np.split(x, [3])[1] * 1,
    "split at len//2": lambda x: np.split(x, [len(x) // 2])[1] * 1,
    "take": lambda x: np.take(x, [0, 2, 3]),
    "x[idx]": lambda x: x[np.array([0, 2, 4])],
    "mask": lambda x: x[x > 0],
    "count_nonzero/len": lambda x: np.count_nonzero(x > 0) / len(x),
    "searchsorted": lambda x: np.searchsorted(np.sort(x), 0.5),
    "histogram": lambda x: np.histogram(x, bins=10, range=(-3, 3))[0] / len(x),
    "bincount": lambda x: np.bincount((x * 0).astype(int)),
    "unique": lambda x: np.unique(x),
    "dot": lambda x: x @ x / len(x),
    "norm": lambda x: np.linalg.norm(x),
    "average w": lambda x: np.average(x, weights=np.arange(len(x))),
    "average": lambda x: np.average(x),
    "cov": lambda x: np.cov(x, x),
    "corrcoef": lambda x: np.corrcoef(x, x),
    "ediff1d": lambda x: np.ediff1d(x),
    "indices": lambda x: np.indices((len(x),))[0] * x,
    "r_": lambda x: np.r_[0.0, x],
    "c_": lambda x: np.c_[x, x],
    "if n>5": lambda x: x * 2 if len(x) > 5 else x,
    "if n even": lambda x: x * 2 if len(x) % 2 else x,
    "max(n,1)": lambda x: x / max(len(x), 1),
    "min(n,10)": lambda x: x[: min(len(x), 10)],
    "min(n,3)": lambda x: x[: min(len(x), 3)],
    "n*(n-1)/2": lambda x: x.sum() / (len(x) * (len(x) - 1) / 2),
    "n*(n-1)//2": lambda x: x.sum() / (len(x) * (len(x) - 1) // 2),
    "-(-n//2)": lambda x: x[: -(-len(x) // 2)],
    "divmod": lambda x: x[: divmod(len(x), 2)[0]],
    "if x.size==0": lambda x: x if x.size == 0 else x / x.sum(),
    "if not len": lambda x: x if not len(x) else x / x.sum(),
    "logspace": lambda x: x * np.logspace(0, 1, len(x)),
    "tri": lambda x: np.tri(len(x)) * x,
    "toeplitz idx": lambda x: np.abs(np.arange(len(x))[:, None] - np.arange(len(x))),
    "x[::-1][:n//2]": lambda x: x[::-1][: len(x) // 2],
    "x[(i+1)%n]": lambda x: x[(np.arange(len(x)) + 1) % len(x)],
    "fliplr idx": lambda x: x[len(x) - 1 - np.arange(len(x))],
    "fromfunction": lambda x: x * np.fromfunction(lambda i: i * 2.0, (len(x),)),
    "ix_": lambda x: np.outer(x, x)[np.ix_(np.arange(len(x)), np.arange(len(x)))],
    "diag_indices": lambda x: np.outer(x, x)[np.diag_indices(len(x))],
    "diagonal": lambda x: np.diagonal(np.outer(x, x)) * 1,
    "trace": lambda x: np.trace(np.outer(x, x)),
    "kron": lambda x: np.kron(x, np.array([1.0, -1.0])),
    "softmax": lambda x: np.exp(x - x.max()) / np.exp(x - x.max()).sum(),
    "einsum": lambda x: np.einsum("i,i->", x, x) / x.shape[0],
    "inner of zeros_like": lambda x: inner(x, np.zeros_like(x)),
    "inner of zeros": lambda x: inner(x, np.zeros(x.shape)),
    "inner of full_like": lambda x: inner(x, np.full_like(x, 2)),
    "inner of copy": lambda x: inner(x, x.copy()),
    "columns of zeros": lambda x: filled(np.zeros((len(x), 3)), (np.s_[:, 1], x)),
    "ranks": lambda x: filled(np.zeros(len(x)), (np.argsort(x), np.arange(len(x)))),
    "diagonal set": lambda x: filled(np.outer(x, x), (np.diag_indices(len(x)), 0.0)),
    "len in a helper": lambda x: total_by_length(x) + x,
    "len by another name": lambda x: x / MEASURE(x),
    "len of each": lambda x: sum(map(len, (x, x[1:]))) * x,
    "len in a comprehension": lambda x: sum(a.sum() / len(a) for a in (x, x[::2])),
    "len of a mask": lambda x: x.sum() / len(x[x > -9]),
    "math": lambda x: (
        x.astype("f4") / math.sqrt(len(x)) + math.sqrt(x.size / 2) - math.ceil(len(x))
    ),
    "an array of numbers by length": lambda x: x.size * x - len(x) / (x * x + 1),
    "powers": lambda x: x.astype("f4") * (len(x) ** -1 + x.size**-2.0 + (len(x) / 2) ** 0.5 + 1.5),
    "returned": lambda x: (x.size / 2, np.sqrt(len(x)), x.size**2, -len(x), divmod(len(x), 3)),
    "fft by twice the length": lambda x: np.fft.rfft(x, n=2 * len(x)),
    "fft of a part": lambda x: np.fft.rfft(x, len(x) - 2),
}
OF_MATRICES = {
    "unpack": lambda x: x / (lambda s: s[0] * s[1])(x.shape),
    "reshape(-1,2)": lambda x: x.reshape(-1, 2) * 2,
    "reshape(n,-1)": lambda x: x.reshape(x.shape[0], -1) * 2,
    "reshape(n*m)": lambda x: x.reshape(x.shape[0] * x.shape[1]) * 2,
    "ravel": lambda x: x.ravel() * 2,
    "T": lambda x: x.T @ x / len(x),
    "mean0": lambda x: x - x.mean(0),
    "std0": lambda x: (x - x.mean(0)) / x.std(0),
    "sum1 keep": lambda x: x / x.sum(1, keepdims=True),
    "pad2": lambda x: np.pad(x, 1),
    "pad2 edge": lambda x: np.pad(x, 1, mode="edge"),
    "roll ax": lambda x: np.roll(x, 1, axis=0) + np.roll(x, -1, axis=1),
    "x[:,0]": lambda x: x[:, 0] * 2,
    "x[:n//2]": lambda x: x[: x.shape[0] // 2],
    "x[:,::2]": lambda x: x[:, ::2] * 2,
    "2x2 pool": lambda x: (
        x[: x.shape[0] // 2 * 2, : x.shape[1] // 2 * 2]
        .reshape(x.shape[0] // 2, 2, x.shape[1] // 2, 2)
        .mean((1, 3))
    ),
    "concat ax1": lambda x: np.concatenate([x, np.ones((len(x), 1))], axis=1),
    "hstack ones": lambda x: np.hstack([np.ones((x.shape[0], 1)), x]),
    "stack": lambda x: np.stack([x, x], -1),
    "gradient": lambda x: np.gradient(x)[0],
    "cumsum ax": lambda x: np.cumsum(x, axis=1),
    "integral img": lambda x: np.cumsum(np.cumsum(x, 0), 1),
    "diff ax": lambda x: np.diff(x, axis=0),
    "cov": lambda x: np.cov(x),
    "cov rowvar": lambda x: np.cov(x, rowvar=False),
    "pairwise": lambda x: np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)),
    "eye sub": lambda x: x @ x.T - np.eye(len(x)),
    "center": lambda x: (np.eye(len(x)) - np.ones((len(x), len(x))) / len(x)) @ x,
    "solve": lambda x: np.linalg.solve(x.T @ x + np.eye(x.shape[1]), x.T @ x[:, 0]),
    "inv": lambda x: np.linalg.inv(x.T @ x + np.eye(x.shape[1])),
    "svd": lambda x: np.linalg.svd(x, full_matrices=False)[1],
    "fft2": lambda x: np.fft.fft2(x),
    "fft2 filt": lambda x: np.fft.ifft2(np.fft.fft2(x) * np.fft.fftfreq(x.shape[0])[:, None]).real,
    "argmax ax": lambda x: x.argmax(1),
    "onehot": lambda x: (x.argmax(1)[:, None] == np.arange(x.shape[1])).astype(float),
    "take_along": lambda x: np.take_along_axis(x, np.argsort(x, 1), 1),
    "fancy rows": lambda x: x[np.arange(len(x)), x.argmax(1)],
    "meshgrid ar": lambda x: (
        np.meshgrid(np.arange(x.shape[0]), np.arange(x.shape[1]), indexing="ij")[0] * x
    ),
    "mgrid": lambda x: np.mgrid[0 : x.shape[0], 0 : x.shape[1]][0] * x,
    "ogrid": lambda x: np.ogrid[0 : x.shape[0], 0 : x.shape[1]][0] * x,
    "indices": lambda x: np.indices(x.shape)[0] * x,
    "linspace mesh": lambda x: (
        np.add.outer(np.linspace(0, 1, x.shape[0]), np.linspace(0, 1, x.shape[1])) * x
    ),
    "center crop": lambda x: x[x.shape[0] // 2 - 1 : x.shape[0] // 2 + 1] * 1,
    "split": lambda x: np.split(x, [2], axis=1)[0] * 1,
    "hsplit": lambda x: np.hsplit(x, [2])[1] * 1,
    "tile": lambda x: np.tile(x, (2, 2)),
    "kron": lambda x: np.kron(x, np.ones((2, 2))),
    "rep2": lambda x: x.repeat(2, 0).repeat(2, 1),
    "rot90": lambda x: np.rot90(x) * 1,
    "flipud": lambda x: np.flipud(x) * 1,
    "swapaxes": lambda x: x.swapaxes(0, 1) * 1,
    "moveaxis": lambda x: np.moveaxis(x, 0, 1) * 1,
    "trace": lambda x: np.trace(x),
    "tril": lambda x: np.tril(x),
    "median ax": lambda x: np.median(x, axis=0),
    "norm ax": lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
    "sliding 2d": lambda x: sliding_window_view(x, (3, 3)).mean((-1, -2)),
    "sort ax": lambda x: np.sort(x, axis=0),
    "lstsq": lambda x: np.linalg.lstsq(x.T @ x + np.eye(x.shape[1]), x[0], rcond=None)[0],
    "for col": lambda x: x / x.shape[1],
    "inner": lambda x: filled(np.zeros_like(x), (np.s_[1:-1, 1:-1], x[2:, 1:-1] - x[:-2, 1:-1])),
    "inner of zeros": lambda x: filled(np.zeros(x.shape), (np.s_[1:-1, 1:-1], x[1:-1, 2:])),
    "inner of transposed": lambda x: filled(np.ones_like(x.T), (np.s_[1:-1], x.T[2:])),
    "padded by hand": lambda x: filled(
        np.zeros((x.shape[0] + 2, x.shape[1] + 2)), (np.s_[1:-1, 1:-1], x)
    ),
    "one hot": lambda x: filled(np.zeros(x.shape), ((np.arange(len(x)), x.argmax(1)), 1)),
    "softmax loss": lambda x: -np.log(np.exp(x)[np.arange(len(x)), x.argmax(1)]).sum() / len(x),
    "attention": lambda x: (
        np.exp(x @ x.T / np.sqrt(x.shape[1])) @ x + np.triu(np.ones((5, 5))).sum()
    ),
    "float": lambda x: x / float(len(x)),
    "int": lambda x: x[: int(len(x)) // 2] * 1,
    "absolute": lambda x: x[: abs(2 - len(x))] * 1,
    "power of two": lambda x: x[0] + 2.0 ** -len(x),
    "decay": lambda x: x / (1 - 0.9 ** len(x)) + 1.5 ** (1 - len(x)),
    "cosine transform": lambda x: x @ np.cos(np.pi * np.arange(x.shape[1]) / (2 * x.shape[1])),
}


def same(got, want):
    assert type(got) is type(want)
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    assert np.asarray(got).dtype == np.asarray(want).dtype


@pytest.mark.parametrize(
    ("function", "arguments"),
    [pytest.param(f, VECTORS, id=name) for name, f in OF_VECTORS.items()]
    + [pytest.param(f, MATRICES, id=name) for name, f in OF_MATRICES.items()],
)
def test_a_function_of_lengths_is_followed_at_most_twice(function, arguments):
    jitted = aj.jit(function, strict=True)
    for x in arguments:
        same(jitted(x), function(x))
    assert jitted.cache_info().traced <= 2, jitted.cache_info().reasons


BY_VALUE = {
    "range": lambda x: sum(x[k] for k in range(len(x) - 1, len(x))),
    "int": lambda x: x[: int(len(x) * 0.8)],
    "text": lambda x: x if f"{len(x) / 2}" else -x,
    "comparison of floats": lambda x: x if 1 / len(x) < 0.05 else -x,
    "ceil": lambda x: x[: math.ceil(len(x) / 3)],
    "a type of NumPy's": lambda x: x / np.float32(len(x)),
    "a table": lambda x: np.arange(4.0).reshape(2, 2) / len(x) + x[0],
    "negative divisor": lambda x: x + 1 / (3.5 - len(x)),
    "key": lambda x: {len(x) / 2: x}[x.size / 2],
}


@pytest.mark.parametrize("function", BY_VALUE.values(), ids=BY_VALUE)
def test_what_needs_the_value_of_a_length_is_followed_for_each(function):
    jitted = aj.jit(function, strict=True)
    for x in (*VECTORS[:4], VECTORS[0], *VECTORS[:4]):
        same(jitted(x), function(x))
    assert jitted.cache_info().traced == 4


def test_errors_of_division_are_pythons():
    jitted = aj.jit(lambda x, k: x * (1 / k), strict=True)
    for k in (3, -7, 100):
        same(jitted(VECTORS[0], k), VECTORS[0] * (1 / k))
    assert jitted.cache_info().traced == 1
    with pytest.raises(ZeroDivisionError):
        jitted(VECTORS[0], 0)
    with pytest.raises(ValueError, match="math domain error"):
        aj.jit(lambda x, k: x * math.sqrt(k))(VECTORS[0], -2)
    with pytest.raises(TypeError, match="unsized"):
        aj.jit(lambda x: len(x.sum(keepdims=True)[0:1].reshape(())), strict=True)(VECTORS[0])


def test_a_len_of_the_users_stays_the_users():
    def own(x, len):
        return x * len(x)

    def local(x):
        len = np.ndim  # noqa: A001
        return x * len(x) + sum([1] * builtin_len((x, x)))

    builtin_len = len
    same(aj.jit(own)(VECTORS[0], np.ndim), VECTORS[0])
    same(aj.jit(local)(VECTORS[0]), VECTORS[0] * 1 + 2)
    assert len is builtin_len


class Model:
    def scaled(self, x):
        return x / len(x)

    @aj.jit
    def __call__(self, x):
        return self.scaled(x) * len(x)


def test_roots_of_python_floats_are_python_floats():
    def function(x, k):
        return x * k**0.5, x * np.sqrt(k)

    x = VECTORS[0].astype("f4")
    same(aj.jit(function)(x, 2.0), function(x, 2.0))


def test_len_in_methods():
    model = Model()
    for x in VECTORS[:5]:
        same(model(x), model.scaled(x) * len(x))


def test_what_is_computed_from_lengths_is_a_python_float():
    def function(x):
        half, root = len(x) / 2, np.sqrt(len(x))
        kinds = isinstance(half, float), isinstance(root, np.float64), isinstance(half, int)
        return kinds, (x.astype("f4") * half, x.astype("f4") * root, half * 2, root + half)

    kinds, values = aj.jit(function)(VECTORS[0])
    same(values, function(VECTORS[0])[1])
    assert kinds == (True, True, False)


def many(jitted, calls):
    for args in calls:
        jitted(*args)


CAUSES = {
    "the length n0 (dimension 0 of argument x)": (
        lambda x: x[: int(len(x) * 0.5)],
        [(np.ones(n),) for n in range(10, 30)],
    ),
    "the integer argument k": (lambda x, k: x[0] + sum(range(k)), [(X, k) for k in range(5, 25)]),
    "static argument word": (lambda x, word: x, [(X, f"{k}") for k in range(20)]),
    "axes of argument x": (
        lambda x: x * 2,
        [(aj.NamedArray(np.ones(9), [aj.make_axis(length=9)]),) for _ in range(20)],
    ),
}


@pytest.mark.parametrize("cause", CAUSES)
def test_a_warning_names_what_a_function_is_followed_for_again_and_again(cause):
    function, calls = CAUSES[cause]
    jitted = aj.jit(function)
    many(jitted, calls[:8])
    with pytest.warns(RetraceWarning, match="followed and compiled again for each") as caught:
        many(jitted, calls[8:])
    (warning,) = caught
    assert cause in str(warning.message)
    assert "instead: " in str(warning.message)
    assert warning.filename == __file__


def test_a_table_of_programs_is_searched_by_the_values_of_lengths(monkeypatch):
    jitted = aj.jit(lambda x: x[: int(len(x) * 0.5)])
    with pytest.warns(RetraceWarning):
        many(jitted, [(np.ones(n),) for n in range(10, 110)])
    ((key, programs),) = jitted._programs.items()
    assert len(programs) == 100
    asked = []
    kind = type(programs[0])
    monkeypatch.setattr(kind, "fits", lambda self, lengths: asked.append(self) or True)
    jitted(np.ones(50))
    assert asked == [programs[40]]
    jitted(np.ones(500))
    assert len(asked) == 1


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_programs_of_one_class_are_bounded(monkeypatch):
    monkeypatch.setattr("axiomjit.dispatch.caches.MAX_PROGRAMS", 5)
    assert MAX_PROGRAMS > 5
    jitted = aj.jit(lambda x: x[: int(len(x) * 0.5)])
    for n in (*range(10, 18), 10, 17):
        same(jitted(np.ones(n)), np.ones(n // 2))
    assert jitted._programs.count() == 5
