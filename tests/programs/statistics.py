"""Statistics as their authors write them."""

import numpy as np


def standardise(x):
    """Centre and scale the columns in place."""
    x -= x.mean(axis=0)
    scale = x.std(axis=0)
    scale[scale == 0] = 1.0
    x /= scale
    return x


def table(seed, size):
    x = np.random.default_rng(seed).random((size, 6))
    x[:, 2] = 1.5
    return (x,)


def covariance(data, ddof=1):
    if data.ndim != 2:
        raise ValueError("need a matrix: observations by variables")
    n = data.shape[0]
    centred = data - data.mean(axis=0, keepdims=True)
    cov = centred.T @ centred / (n - ddof)
    sd = np.sqrt(np.diag(cov))
    return cov, cov / np.outer(sd, sd)


def observations(seed, size):
    return (np.random.default_rng(seed).standard_normal((size, 6)),)


def one_column(seed, size):
    return (np.ones(size),)


def linear_regression(X, y):
    if X.shape[0] != y.shape[0]:
        raise ValueError("X and y differ in length")
    design = np.column_stack([np.ones(X.shape[0]), X])
    beta = np.linalg.solve(design.T @ design, design.T @ y)
    residuals = y - design @ beta
    ss_res = np.sum(residuals**2)
    ss_tot = np.sum((y - y.mean()) ** 2)
    return {"beta": beta, "r2": 1 - ss_res / ss_tot, "residuals": residuals}


def regression_data(seed, size):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((size, 6))
    return X, X @ rng.random(6) + 0.1 * rng.standard_normal(size)


def unequal_lengths(seed, size):
    return np.ones((size, 6)), np.ones(size + 1)


def kmeans_step(points, centroids):
    d2 = ((points[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
    labels = d2.argmin(axis=1)
    updated = centroids.copy()
    for k in range(len(centroids)):
        members = labels == k
        updated[k] = points[members].mean(axis=0)
    inertia = d2.min(axis=1).sum()
    return updated, labels, inertia


def clusters(seed, size):
    rng = np.random.default_rng(seed)
    centres = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 5.0]])
    points = centres[np.arange(size) % 3] + rng.standard_normal((size, 2))
    return points, centres + 0.3


def em_step(x, weights, means, variances):
    """One step of expectation and maximisation for a mixture of normal distributions."""
    log_p = (
        np.log(weights)
        - 0.5 * np.log(2 * np.pi * variances)
        - 0.5 * (x[:, np.newaxis] - means) ** 2 / variances
    )
    top = log_p.max(axis=1, keepdims=True)
    log_norm = top + np.log(np.exp(log_p - top).sum(axis=1, keepdims=True))
    resp = np.exp(log_p - log_norm)
    nk = resp.sum(axis=0)
    means = resp.T @ x / nk
    variances = (resp * (x[:, np.newaxis] - means) ** 2).sum(axis=0) / nk + 1e-6
    return nk / len(x), means, variances, log_norm.sum()


def mixture(seed, size):
    rng = np.random.default_rng(seed)
    x = np.where(rng.random(size) < 0.4, rng.normal(-2, 1, size), rng.normal(3, 0.5, size))
    return x, np.full(3, 1 / 3), np.array([-1.0, 0.0, 1.0]), np.ones(3)


def bootstrap(data, rng, n_resamples=50):
    """A confidence interval of the mean."""
    idx = rng.integers(0, len(data), size=(n_resamples, len(data)))
    means = data[idx].mean(axis=1)
    low, high = np.percentile(means, [2.5, 97.5])
    return means.mean(), low, high


def data_and_generator(seed, size):
    return np.random.default_rng(seed).random(size), np.random.default_rng(seed + 10)


def moving_average(x, window):
    total = np.cumsum(np.insert(x, 0, 0.0))
    return (total[window:] - total[:-window]) / window


def windowed(seed, size):
    return np.random.default_rng(seed).random(size), 5


def box_plot(x):
    """The numbers that a box plot draws."""
    if np.isnan(x).any():
        raise ValueError("x has missing values")
    q1, med, q3 = np.quantile(x, [0.25, 0.5, 0.75])
    iqr = q3 - q1
    inside = (x >= q1 - 1.5 * iqr) & (x <= q3 + 1.5 * iqr)
    return {
        "median": med,
        "whiskers": (x[inside].min(), x[inside].max()),
        "outliers": int((~inside).sum()),
    }


def sample(seed, size):
    return (np.random.default_rng(seed).standard_normal(size) ** 3,)


def with_gaps(seed, size):
    (x,) = sample(seed, size)
    x[1] = np.nan
    return (x,)


def group_means(keys, values):
    """The mean and the number of values of each key."""
    n_groups = len(np.unique(keys))
    _, inverse = np.unique(keys, return_inverse=True)
    counts = np.bincount(inverse, minlength=n_groups)
    sums = np.bincount(inverse, weights=values, minlength=n_groups)
    return sums / counts, counts


def grouped(seed, size):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 9, size) * 3, rng.random(size)


def autocorrelation(x, max_lag=6):
    x = x - x.mean()
    n = x.size
    acf = np.array([np.dot(x[: n - lag], x[lag:]) for lag in range(max_lag)])
    return acf / acf[0]


def ranks(x):
    """Ranks from 1, equal values in the order in which they come."""
    order = np.argsort(x, kind="stable")
    out = np.empty(len(x), dtype=np.intp)
    out[order] = np.arange(1, len(x) + 1)
    return out
