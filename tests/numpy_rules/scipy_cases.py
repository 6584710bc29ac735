"""Functions of SciPy that are no ufuncs, each of two matrices, and arrays to call them with."""

import numpy as np
import pytest

pytest.importorskip("scipy")
from scipy import fft, integrate, interpolate, linalg, ndimage, signal, sparse, special, stats
from scipy.linalg import blas, lapack
from scipy.spatial import distance

GRID = np.linspace(0, 1, 9)
SPLINE = interpolate.CubicSpline(GRID, np.sin(GRID))
MATRIX = sparse.csr_matrix(np.diag(np.arange(1.0, 10)) + np.eye(9, k=2))
ARRAY = sparse.coo_array(np.eye(9, k=1))
COMPILED = {
    "solve": lambda x, y: linalg.solve(x + 9 * np.eye(9), y) * 2,
    "solve_triangular": lambda x, y: linalg.solve_triangular(x + np.eye(9), y, lower=True),
    "solve_banded": lambda x, y: linalg.solve_banded((1, 1), x[:3] + [[0], [9], [0]], y),
    "solveh_banded": lambda x, y: linalg.solveh_banded(x[:2] + [[0], [9]], y[:, 0]),
    "solve_toeplitz": lambda x, y: linalg.solve_toeplitz(x[0] + 9.0 * (np.arange(9) == 0), y),
    "inv": lambda x, y: linalg.inv(x + 9 * np.eye(9)) + y,
    "pinv": lambda x, y: linalg.pinv(x[:, :4]),
    "det": lambda x, y: linalg.det(x) * y,
    "lstsq": lambda x, y: linalg.lstsq(x[:, :3], y)[0],
    "cholesky": lambda x, y: linalg.cholesky(x @ x.T + 9 * np.eye(9), lower=True),
    "cho_solve": lambda x, y: linalg.cho_solve((np.tril(x) + np.eye(9), True), y),
    "lu_factor": lambda x, y: linalg.lu_factor(x)[0] + y,
    "lu_solve": lambda x, y: linalg.lu_solve(linalg.lu_factor(x), y) + 1,
    "dgetrs": lambda x, y: lapack.dgetrs(*lapack.dgetrf(x)[:2], y)[0] * 2,
    "lu": lambda x, y: linalg.lu(x)[2],
    "qr": lambda x, y: linalg.qr(x, mode="economic")[1],
    "eigh": lambda x, y: linalg.eigh(x + x.T, eigvals_only=True),
    "svdvals": lambda x, y: linalg.svdvals(x),
    "norm": lambda x, y: linalg.norm(x, 1) + y,
    "expm": lambda x, y: linalg.expm(x / 9) @ y,
    "toeplitz": lambda x, y: linalg.toeplitz(x[0]) + y,
    "block_diag": lambda x, y: linalg.block_diag(x, y) * 2,
    "circulant": lambda x, y: linalg.circulant(y[0]),
    "dgtsv": lambda x, y: lapack.dgtsv(x[0, 1:], x[1] + 9, x[2, 1:], y[0])[3] * 2,
    "dpotrf": lambda x, y: lapack.dpotrf(x @ x.T + 9 * np.eye(9))[0],
    "dgesv": lambda x, y: lapack.dgesv(x, y)[2] + 1,
    "dgemm": lambda x, y: blas.dgemm(2.0, x, y, trans_b=1),
    "dnrm2": lambda x, y: blas.dnrm2(x[0]) * y,
    "get_lapack_funcs": lambda x, y: linalg.get_lapack_funcs(("gtsv",), (x, y))[0](
        x[0, 1:], x[1] + 9, x[2, 1:], y[0]
    )[3],
    "logsumexp": lambda x, y: special.logsumexp(x, axis=1) + 1,
    "softmax": lambda x, y: special.softmax(x, axis=0) * y,
    "log_softmax": lambda x, y: special.log_softmax(x),
    "comb": lambda x, y: special.comb(np.floor(x * 9), 2),
    "lfilter": lambda x, y: signal.lfilter([1.0, 0.5], [1.0, -0.3], x) + y,
    "filtfilt": lambda x, y: signal.filtfilt([0.5, 0.5], [1.0], x, padlen=3),
    "sosfilt": lambda x, y: signal.sosfilt(signal.butter(2, 0.3, output="sos"), x),
    "savgol_filter": lambda x, y: signal.savgol_filter(x, 5, 2) - x,
    "fftconvolve": lambda x, y: signal.fftconvolve(x, y, mode="same"),
    "convolve2d": lambda x, y: signal.convolve2d(x, y[:3, :3], mode="same"),
    "correlate": lambda x, y: signal.correlate(x[0], y[0]),
    "detrend": lambda x, y: signal.detrend(x),
    "welch": lambda x, y: signal.welch(x, nperseg=8)[1],
    "hilbert": lambda x, y: np.abs(signal.hilbert(x)),
    "resample": lambda x, y: signal.resample(x, 5, axis=1),
    "medfilt": lambda x, y: signal.medfilt(x, 3),
    "gaussian_filter": lambda x, y: ndimage.gaussian_filter(x * 2, 1.0) + y,
    "uniform_filter1d": lambda x, y: ndimage.uniform_filter1d(x, 3, axis=0),
    "convolve": lambda x, y: ndimage.convolve(x, y[:3, :3]),
    "sobel": lambda x, y: ndimage.sobel(x) + ndimage.laplace(y),
    "median_filter": lambda x, y: ndimage.median_filter(x, size=3),
    "map_coordinates": lambda x, y: ndimage.map_coordinates(x, 4 * y[:2], order=1),
    "zoom": lambda x, y: ndimage.zoom(x, 2, order=1),
    "shift": lambda x, y: ndimage.shift(x, 0.5),
    "label": lambda x, y: ndimage.label(x > 0.5)[0] + y,
    "distance_transform_edt": lambda x, y: ndimage.distance_transform_edt(x > 0.3),
    "binary_dilation": lambda x, y: ndimage.binary_dilation(x > 0.8) & (y > 0.1),
    "center_of_mass": lambda x, y: ndimage.center_of_mass(x)[0] + y,
    "sum_labels": lambda x, y: ndimage.sum_labels(x, (y * 3).astype(int), [0, 1, 2]),
    "fft": lambda x, y: np.abs(fft.fft(x)),
    "rfft2": lambda x, y: fft.irfft2(fft.rfft2(x) * 2, (9, 9)),
    "dct": lambda x, y: fft.dct(x, norm="ortho") * y,
    "dstn": lambda x, y: fft.dstn(x),
    "splev": lambda x, y: interpolate.splev(y[0], interpolate.splrep(GRID, x[0])),
    "griddata": lambda x, y: interpolate.griddata(x[:, :2], y[0], x[:2, :2], "nearest"),
    "pchip_interpolate": lambda x, y: interpolate.pchip_interpolate(GRID, x, 0.3 * y[0]),
    "spline": lambda x, y: SPLINE(x * 0.9) + SPLINE(y * 0.9, 1),
    "zscore": lambda x, y: stats.zscore(x, axis=1) + y,
    "linregress": lambda x, y: stats.linregress(x[0], y[0]).slope * x,
    "linregress error": lambda x, y: stats.linregress(x[0], y[0]).intercept_stderr * x,
    "describe": lambda x, y: stats.describe(x, axis=None).variance * x,
    "skew": lambda x, y: stats.skew(x) + stats.kurtosis(y),
    "rankdata": lambda x, y: stats.rankdata(x[0]) * y,
    "ttest_ind": lambda x, y: stats.ttest_ind(x, y).pvalue + 1,
    "spearmanr": lambda x, y: stats.spearmanr(x[0], y[0]).statistic * x,
    "gmean": lambda x, y: stats.gmean(np.abs(x) + 1) * y,
    "distribution": lambda x, y: stats.norm.cdf(x) + stats.gamma.pdf(y, 2.0),
    "cdist": lambda x, y: distance.cdist(x, y, "cityblock") ** 2,
    "pdist": lambda x, y: distance.squareform(distance.pdist(x)) * y,
    "cosine": lambda x, y: distance.cosine(x[0], y[0]) * x,
    "simpson": lambda x, y: integrate.simpson(x, axis=1) + 1,
    "cumulative_trapezoid": lambda x, y: integrate.cumulative_trapezoid(x, dx=0.5, axis=0),
    "sparse": lambda x, y: MATRIX @ x + y,
    "sparse method": lambda x, y: MATRIX.dot(x[0]) * 2,
    "array before sparse": lambda x, y: (x @ ARRAY) * y,
    "sparse star": lambda x, y: MATRIX * (x[:, 0] + 1),
}
"""Each is compiled, with the function as a step."""
_DRAWN = np.random.default_rng(0)
PAIR = _DRAWN.uniform(0.1, 1, (9, 9)), _DRAWN.uniform(0.1, 1, (9, 9))
