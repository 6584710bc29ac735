"""Calls of libraries that users make with arrays of `axiomjit.numpy`.

A call is a function of the namespace `np`, NumPy's or ours: it makes its arrays by it, gives them
to the library, and returns what the library made of them. Inputs are free of rounding.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

N = 240
OF_NUMBERS = "C code of pandas asks for Python's and NumPy's own numbers; it takes float(x.max())"
OF_ARRAYS = "C code of SciPy asks for NumPy's own arrays; it takes numpy.asarray(x)"


class _Module:
    """A module of a library that may not be installed, imported where it is used."""

    def __init__(self, name):
        self._name = name

    def __getattr__(self, name):
        return getattr(importlib.import_module(self._name), name)


plt, figures = _Module("matplotlib.pyplot"), _Module("matplotlib.figure")
agg = _Module("matplotlib.backends.backend_agg")
pd = _Module("pandas")
scipy = _Module("scipy")


@dataclass(frozen=True)
class Call:
    """A call of a library.

    Attributes:
        library: The library's name.
        run: The call, a function of the namespace.
        rtol: How far results may be apart, where sums or elementary functions enter; else 0.
        reason: Why it fails with lazy arrays; none if it works.
    """

    library: str
    run: Callable[[Any], Any]
    rtol: float = 0.0
    reason: str = ""


CALLS: dict[str, Call] = {}
"""The calls, by library and name."""


def _call(library, rtol=0.0, reason=""):
    def add(function):
        CALLS[f"{library}: {function.__name__.strip('_')}"] = Call(library, function, rtol, reason)
        return function

    return add


def wave(np, count=N, seed=1):
    """Scattered doubles from 0 to 1; they are pending in our namespace."""
    positions = np.arange(count)
    assert positions[0] == 0  # a look, so that what follows reads an array and is no constant
    return positions * (367 * seed + 12) % 1009 / 1009


def table(np, rows=N, columns=3, seed=1):
    """A matrix of doubles, as `wave` makes them."""
    return wave(np, rows * columns, seed).reshape(rows, columns)


def classes(np):
    """Zeros and ones that depend on the columns of `table`."""
    x = table(np)
    return (x[:, 0] + x[:, 1] > 1).astype(int)


# matplotlib: what the artists hold, and the pixels


def _drawn(axes, *held):
    canvas = agg.FigureCanvasAgg(axes.figure)
    canvas.draw()
    return *held, numpy.array(canvas.buffer_rgba())


def _axes(**options):
    return figures.Figure(figsize=(3, 2), dpi=60).subplots(**options)


@_call("matplotlib")
def plot(np):
    axes = _axes()
    (line,) = axes.plot(np.arange(N) / 8, wave(np), "o-", label="wave")
    axes.legend()
    return _drawn(axes, line.get_xydata(), axes.get_ylim())


@_call("matplotlib")
def hist(np):
    axes = _axes()
    counts, edges, _ = axes.hist(wave(np), bins=20)
    return _drawn(axes, counts, edges)


@_call("matplotlib")
def imshow(np):
    axes = _axes()
    image = axes.imshow(table(np, 12, 20), origin="lower")
    return _drawn(axes, image.get_array(), image.get_clim())


@_call("matplotlib")
def contourf(np):
    axes = _axes()
    x, y = np.meshgrid(np.arange(20) / 4, np.arange(15) / 2)
    found = axes.contourf(x, y, x * x - y * x, levels=6)
    return _drawn(axes, found.levels, [path.vertices for path in found.get_paths()])


@_call("matplotlib")
def errorbar(np):
    axes = _axes()
    line, _, (bars,) = axes.errorbar(np.arange(N), wave(np), yerr=wave(np, seed=2) / 4, capsize=2)
    return _drawn(axes, line.get_xydata(), bars.get_segments())


@_call("matplotlib")
def scatter(np):
    axes = _axes()
    points = axes.scatter(wave(np), wave(np, seed=2), s=9 * wave(np, seed=3), c=wave(np, seed=4))
    return _drawn(axes, points.get_offsets(), points.get_sizes(), points.get_array())


@_call("matplotlib")
def bar(np):
    axes = _axes()
    bars = axes.bar(np.arange(12), wave(np, 12), width=0.5)
    return _drawn(axes, [(one.get_x(), one.get_height()) for one in bars])


@_call("matplotlib")
def fill_between(np):
    axes = _axes()
    low, high = wave(np, 40), wave(np, 40, seed=2)
    found = axes.fill_between(np.arange(40), low, high, where=low < high)
    return _drawn(axes, [path.vertices for path in found.get_paths()])


@_call("matplotlib")
def pcolormesh(np):
    axes = _axes()
    mesh = axes.pcolormesh(np.arange(21), np.arange(13) * 2, table(np, 12, 20))
    axes.figure.colorbar(mesh)
    return _drawn(axes, mesh.get_array(), mesh.get_coordinates())


@_call("matplotlib")
def quiver(np):
    axes = _axes()
    found = axes.quiver(wave(np, 30), wave(np, 30, 2), wave(np, 30, 3), wave(np, 30, 4))
    return _drawn(axes, found.U, found.V, found.get_offsets())


@_call("matplotlib")
def stem(np):
    axes = _axes()
    found = axes.stem(np.arange(20), wave(np, 20))
    return _drawn(axes, found.markerline.get_xydata(), found.stemlines.get_segments())


@_call("matplotlib")
def boxplot(np):
    axes = _axes()
    found = axes.boxplot([wave(np), wave(np, seed=2) * 2])
    return _drawn(axes, [line.get_xydata() for kind in found.values() for line in kind])


@_call("matplotlib")
def hist2d(np):
    axes = _axes()
    counts, x, y, _ = axes.hist2d(wave(np), wave(np, seed=2), bins=(5, 6))
    return _drawn(axes, counts, x, y)


@_call("matplotlib")
def set_data(np):
    figure, axes = plt.subplots(figsize=(3, 2), dpi=60)
    (line,) = axes.semilogy([1, 2], [1, 2])
    line.set_data(np.arange(N) + 1, wave(np) + 1)
    axes.relim()
    axes.autoscale_view()
    found = _drawn(axes, line.get_xydata(), axes.get_xlim())
    plt.close(figure)
    return found


@_call("matplotlib")
def plot_surface(np):
    axes = _axes(subplot_kw={"projection": "3d"})
    x, y = np.meshgrid(np.arange(10) / 4, np.arange(8) / 2)
    axes.plot_surface(x, y, x * y, rstride=2, cstride=2)
    return _drawn(axes, axes.get_w_lims())


# pandas


@_call("pandas")
def series(np):
    found = pd.Series(wave(np), name="wave")
    return found, found.describe(), found.head(3).to_string()


@_call("pandas")
def frame_of_columns(np):
    found = pd.DataFrame({"a": wave(np), "b": np.arange(N), "c": wave(np) > 0.5})
    return found, found.dtypes.astype(str).tolist(), found.mean()


@_call("pandas")
def frame_of_a_matrix(np):
    found = pd.DataFrame(table(np), columns=["a", "b", "c"], index=np.arange(N) * 2)
    return found, found.loc[10:20], found.T.iloc[:, :3], repr(found)


@_call("pandas")
def arithmetic_with_series(np):
    x, s = wave(np), pd.Series(numpy.arange(N) / 4)
    return s + x, x * s, s > x, x - s, divmod(s, x + 1)[0]


@_call("pandas")
def columns_set(np):
    frame = pd.DataFrame({"a": numpy.arange(N)})
    frame["b"] = wave(np)
    frame["c"] = frame["b"] * wave(np, seed=2)
    frame.loc[wave(np) > 0.5, "b"] = 0
    return frame


@_call("pandas", rtol=1e-14)
def groupby(np):
    frame = pd.DataFrame({"key": np.arange(N) % 7, "x": wave(np), "y": wave(np, seed=2)})
    return frame.groupby("key").sum(), frame["x"].groupby(np.arange(N) % 3).mean()


@_call("pandas")
def where_on_columns(np):
    frame = pd.DataFrame({"a": numpy.arange(N) / 9, "b": -numpy.arange(N)})
    found = np.where(frame["a"] > 5, frame["a"], frame["b"] * wave(np))
    return found, frame["a"].where(wave(np) > 0.5, wave(np, seed=2))


@_call("pandas")
def to_numpy_with_lazy_arrays(np):
    frame = pd.DataFrame({"a": numpy.arange(N) / 4, "b": numpy.arange(N) / 8})
    values = frame.to_numpy() * wave(np)[:, None]
    values[:, 0] += wave(np, seed=2)
    return values, pd.Series(wave(np)).to_numpy() + 1, pd.DataFrame(table(np)).to_numpy()[2:4]


@_call("pandas", rtol=1e-14)
def ufuncs_of_series(np):
    s = pd.Series(wave(np))
    return np.sqrt(s) + wave(np), np.exp(s), np.maximum(s, wave(np, seed=2)), np.sum(s)


@_call("pandas")
def cut(np):
    x = wave(np)
    return pd.cut(x, [0, 0.25, 0.5, 1]).codes, pd.qcut(x, 4, labels=False)


@_call("pandas", rtol=1e-13)
def rolling(np):
    s = pd.Series(wave(np))
    return s.rolling(5).mean(), s.ewm(span=3).mean(), s.shift(1).fillna(0), s.cumsum()


@_call("pandas")
def selection_by_masks(np):
    frame = pd.DataFrame({"a": wave(np), "b": np.arange(N)})
    mask = wave(np) > 0.5
    return frame[mask], frame.loc[mask, "b"], frame["a"][mask], frame.iloc[np.arange(5) * 2]


@_call("pandas")
def merge(np):
    left = pd.DataFrame({"key": np.arange(20) * 7 % 20, "x": wave(np, 20)})
    right = pd.DataFrame({"key": np.arange(30) % 10, "y": wave(np, 30, seed=2)})
    return left.merge(right, on="key"), pd.concat([left, right], ignore_index=True)


@_call("pandas")
def sort_values(np):
    frame = pd.DataFrame({"a": wave(np), "b": np.arange(N) % 5})
    return frame.sort_values(["b", "a"]), frame["a"].rank(), frame["a"].argsort()


@_call("pandas")
def factorize(np):
    x = np.arange(N) * 3 % 11
    codes, values = pd.factorize(x)
    return codes, values, pd.unique(x), pd.Series(x).value_counts(), pd.Series(x).isin(x[:3])


@_call("pandas", reason=OF_NUMBERS)
def numbers_in_columns(np):
    return pd.DataFrame({"a": [1, 2], "b": wave(np).max()}), pd.Series([wave(np).max(), 1.0])


@_call("pandas", reason=OF_NUMBERS)
def numbers_of_functions(np):
    return pd.Series(wave(np)).apply(lambda value: value * wave(np).max())


@_call("pandas", reason=OF_NUMBERS)
def numbers_that_fill(np):
    s = pd.Series([1, numpy.nan, 3])
    return s.fillna(wave(np).max()), s.clip(upper=wave(np).max())


@_call("pandas", reason=OF_NUMBERS)
def numbers_as_positions(np):
    last = np.arange(N).max()
    return pd.Series(wave(np)).iloc[last], pd.Series(wave(np)).head(last)


# SciPy


@_call("scipy", rtol=1e-12)
def linalg_solve(np):
    a = table(np, 12, 12) + 4 * np.eye(12)
    b = wave(np, 12)
    return scipy.linalg.solve(a, b), scipy.linalg.lu_solve(scipy.linalg.lu_factor(a), b)


@_call("scipy", rtol=1e-10)
def linalg_eigh(np):
    a = table(np, 12, 12)
    values, vectors = scipy.linalg.eigh(a + a.T)
    return values, abs(vectors), scipy.linalg.expm(a / 8)


@_call("scipy", rtol=1e-6)
def optimize_minimize(np):
    target = wave(np, 8)
    found = scipy.optimize.minimize(lambda x: np.sum((x - target) ** 2), np.zeros(8))
    return found.x, found.success


@_call("scipy", rtol=1e-6, reason=OF_ARRAYS)
def optimize_lbfgs(np):
    target = wave(np, 8)
    options = {"jac": lambda x: 2 * (x - target), "method": "L-BFGS-B"}
    return scipy.optimize.minimize(lambda x: np.sum((x - target) ** 2), np.zeros(8), **options).x


@_call("scipy", rtol=1e-6, reason=OF_ARRAYS)
def optimize_slsqp(np):
    target = wave(np, 8)
    options = {"jac": lambda x: 2 * (x - target), "method": "SLSQP"}
    return scipy.optimize.minimize(lambda x: np.sum((x - target) ** 2), np.zeros(8), **options).x


@_call("scipy", rtol=1e-6)
def optimize_curve_fit(np):
    x = np.arange(N) / N
    y = 2 * np.exp(-3 * x) + wave(np) / 100
    return scipy.optimize.curve_fit(lambda x, a, b: a * np.exp(-b * x), x, y, p0=(1, 1))


@_call("scipy", rtol=1e-12)
def interpolate_splines(np):
    x = np.arange(40) / 4
    at = wave(np) * 9
    found = scipy.interpolate.CubicSpline(x, wave(np, 40))(at)
    return found, scipy.interpolate.interp1d(x, wave(np, 40))(at)


@_call("scipy", rtol=1e-12)
def signal_filtfilt(np):
    b, a = scipy.signal.butter(3, 0.2)
    x = wave(np)
    return scipy.signal.filtfilt(b, a, x), scipy.signal.lfilter(np.ones(5) / 5, 1, x)


@_call("scipy", rtol=1e-12)
def signal_find_peaks(np):
    x = wave(np)
    peaks, found = scipy.signal.find_peaks(x, height=0.5, distance=3)
    return peaks, found["peak_heights"], scipy.signal.fftconvolve(x, x[:9], mode="same")


@_call("scipy", rtol=1e-13)
def ndimage_filters(np):
    x = table(np, 16, 15)
    labels, count = scipy.ndimage.label(x > 0.5)
    return scipy.ndimage.gaussian_filter(x, 1.5), scipy.ndimage.median_filter(x, 3), labels, count


@_call("scipy", rtol=1e-10)
def stats_tests(np):
    x, y = wave(np), wave(np, seed=2) + 0.1
    found = scipy.stats.ttest_ind(x, y), scipy.stats.ks_2samp(x, y), scipy.stats.pearsonr(x, y)
    return [(one.statistic, one.pvalue) for one in found], scipy.stats.linregress(x, y).slope


@_call("scipy", rtol=1e-15)
def special_functions(np):
    x = wave(np)
    out = np.zeros(N)
    scipy.special.expit(x, out=out)
    return scipy.special.erf(x), scipy.special.gamma(x + 1) * 2, out, scipy.special.logsumexp(x)


@_call("scipy", rtol=1e-9)
def integrate_solve_ivp(np):
    at = np.arange(20) / 10
    found = scipy.integrate.solve_ivp(lambda t, y: -y * wave(np, 6), (0, 2), np.ones(6), t_eval=at)
    return found.y, scipy.integrate.simpson(wave(np), x=np.arange(N) / N)


@_call("scipy", rtol=1e-12)
def sparse_matrices(np):
    x = table(np, 20, 12)
    a = scipy.sparse.csr_matrix(np.where(x > 0.6, x, 0))
    b = scipy.sparse.coo_array((wave(np, 30), (np.arange(30) % 7, np.arange(30) % 5)), (7, 5))
    return a @ wave(np, 12), a.toarray(), wave(np, 20) @ a, b.toarray()


@_call("scipy", rtol=1e-12)
def fft_transforms(np):
    x = wave(np)
    return (
        scipy.fft.rfft(x),
        scipy.fft.dct(x),
        scipy.fft.fft2(table(np, 8, 9)),
        scipy.fft.fft(x * 1j),
    )


@_call("scipy")
def spatial_trees(np):
    tree = scipy.spatial.cKDTree(table(np))
    distances, positions = tree.query(table(np, 20, 3, seed=2), k=2)
    return distances, positions, scipy.spatial.ConvexHull(table(np)).vertices


@_call("scipy", rtol=1e-13)
def spatial_distances(np):
    x, y = table(np, 20), table(np, 30, seed=2)
    return scipy.spatial.distance.cdist(x, y), scipy.spatial.distance.pdist(x, "cosine")


# scikit-learn


def _learn(name, **options):
    module, _, kind = name.rpartition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), kind)(**options)


def _of(name):
    module, _, function = name.rpartition(".")
    return getattr(importlib.import_module(f"sklearn.{module}"), function)


@_call("sklearn", rtol=1e-10)
def linear_regression(np):
    x = table(np)
    model = _learn("linear_model.LinearRegression").fit(x, x @ np.array([1.0, 2, 3]) + wave(np) / 9)
    return model.coef_, model.predict(table(np, seed=2))


@_call("sklearn", rtol=1e-6)
def logistic_regression(np):
    model = _learn("linear_model.LogisticRegression").fit(table(np), classes(np))
    return model.coef_, model.predict(table(np, seed=2)), model.predict_proba(table(np, seed=2))


@_call("sklearn", rtol=1e-12)
def standard_scaler(np):
    scaler = _learn("preprocessing.StandardScaler")
    found = scaler.fit_transform(table(np))
    return found, scaler.mean_, scaler.inverse_transform(found)


@_call("sklearn")
def train_test_split(np):
    split = _of("model_selection.train_test_split")
    return split(table(np), classes(np), test_size=0.25, random_state=3, stratify=classes(np))


@_call("sklearn", rtol=1e-9)
def k_means(np):
    model = _learn("cluster.KMeans", n_clusters=4, n_init=2, random_state=3).fit(table(np))
    return model.cluster_centers_, model.labels_, model.predict(table(np, seed=2))


@_call("sklearn", rtol=1e-9)
def pca(np):
    model = _learn("decomposition.PCA", n_components=2)
    return abs(model.fit_transform(table(np))), model.explained_variance_ratio_


@_call("sklearn")
def random_forest(np):
    model = _learn("ensemble.RandomForestClassifier", n_estimators=5, random_state=3)
    return model.fit(table(np), classes(np)).predict_proba(table(np, seed=2))


@_call("sklearn")
def roc_auc_score(np):
    y = classes(np)
    return _of("metrics.roc_auc_score")(y, wave(np)), _of("metrics.roc_curve")(y, wave(np))


@_call("sklearn")
def confusion_matrix(np):
    y, guess = classes(np), (wave(np) > 0.5).astype(int)
    report = _of("metrics.classification_report")(y, guess)
    return _of("metrics.confusion_matrix")(y, guess), _of("metrics.f1_score")(y, guess), report


@_call("sklearn", rtol=1e-13)
def mean_squared_error(np):
    x, y = wave(np), wave(np, seed=2)
    return _of("metrics.mean_squared_error")(x, y), _of("metrics.r2_score")(x, y)


@_call("sklearn")
def nearest_neighbours(np):
    model = _learn("neighbors.KNeighborsClassifier", n_neighbors=3).fit(table(np), classes(np))
    return model.predict(table(np, seed=2)), model.kneighbors(table(np, 20))[1]


@_call("sklearn", rtol=1e-6)
def support_vectors(np):
    model = _learn("svm.SVC", C=2.0).fit(table(np), classes(np))
    return model.support_, model.decision_function(table(np, seed=2))


@_call("sklearn", rtol=1e-6)
def cross_validated_pipeline(np):
    scaler, model = _learn("preprocessing.StandardScaler"), _learn("linear_model.Ridge")
    pipeline = _of("pipeline.make_pipeline")(scaler, model)
    return _of("model_selection.cross_val_score")(pipeline, table(np), wave(np, seed=2), cv=4)


@_call("sklearn")
def encoders(np):
    codes = (wave(np) * 7).astype(int)
    encoder = _learn("preprocessing.LabelEncoder")
    wide = _learn("preprocessing.OneHotEncoder", sparse_output=False)
    found = encoder.fit_transform(codes)
    return found, encoder.classes_, wide.fit_transform(codes[:, None])


@_call("sklearn", rtol=1e-6)
def grid_search(np):
    search = _of("model_selection.GridSearchCV")(
        _learn("linear_model.Lasso"), {"alpha": [0.001, 0.01]}, cv=3
    )
    search.fit(_learn("preprocessing.PolynomialFeatures").fit_transform(table(np)), wave(np))
    return search.best_params_["alpha"], search.best_estimator_.coef_
