"""`grad`, `value_and_grad` and their like, called as users call them."""

import copy
import dataclasses
import functools
import gc
import pickle
import re
import weakref
from pathlib import Path

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GradientError, GraphValueError

R = np.random.default_rng(3)
X, Y = R.normal(size=(5, 4)), R.normal(size=4)


def distance(x, y):
    return np.sqrt(((x - y) ** 2).sum())


def cubes(x):
    return (x**3).sum()


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch, request):
    """The evaluator runs programs, unless a test is about compiled ones."""
    if "compiled" not in request.node.name:
        monkeypatch.setattr(aj.config, "disable", True)


def test_compiled_value_and_gradient():
    value, (gx, gy) = aj.value_and_grad(distance, argnums=(0, 1))(X, Y)
    assert value == pytest.approx(np.sqrt(((X - Y) ** 2).sum()))
    np.testing.assert_allclose(gx, (X - Y) / value, rtol=1e-13)
    np.testing.assert_allclose(gy, -((X - Y) / value).sum(0), rtol=1e-13)


def test_compiled_gradient_of_a_broadcast_is_one_accumulating_nest():
    lowered = aj.grad(lambda y, x: (y * x).sum(), argnums=0).lower(Y, X)
    text = str(lowered.loops)
    assert text.count("nest\n") == 1
    assert " sum v" in text
    wide = str(aj.grad(lambda x, y: (x * y).sum()).lower(X, Y).loops)
    assert wide.count("nest\n") == 1
    assert " sum v" not in wide
    assert lowered.cost.temporary_bytes == 0


def test_a_norm_has_gradient_zero_at_zero():
    assert not aj.grad(distance)(X, X).any()
    assert not aj.grad(np.linalg.norm)(np.zeros(3)).any()
    assert not aj.grad(lambda x: x.std())(np.ones(3)).any()


def test_gradients_compile_once():
    for k in range(3):
        np.testing.assert_allclose(aj.grad(cubes)(X + k), 3 * (X + k) ** 2)
    assert aj.grad(cubes) is aj.grad(cubes)
    assert aj.grad(cubes).cache_info().traced == 1
    assert aj.grad(cubes) is not aj.grad(cubes, argnums=(0,))


def test_containers_and_names():
    def loss(parameters, x, scale=2.0):
        return scale * ((x @ parameters["w"] + parameters["b"][0]) ** 2).sum()

    given = {"w": Y, "b": [0.5, np.array(3)]}
    with pytest.raises(GradientError, match=r"argument 0\n.*int64"):
        aj.grad(loss)(given, X)
    given["b"].pop()
    found = aj.grad(loss)(given, X)
    rest = X @ Y + 0.5
    np.testing.assert_allclose(found["w"], 4 * rest @ X)
    assert found["b"] == [pytest.approx(4 * rest.sum())]
    assert isinstance(found["b"][0], float)
    by_name = aj.grad(loss, argnames="scale")(given, X, scale=3.0)
    assert by_name == pytest.approx((rest**2).sum())
    both = aj.grad(loss, argnames=("x", "scale"))(given, X, scale=3.0)
    assert set(both) == {"x", "scale"}
    np.testing.assert_allclose(both["x"], 6 * rest[:, None] * Y)
    with pytest.raises(GraphValueError, match="a call with 2 positional arguments"):
        aj.grad(loss, argnums=4)(given, X)


def test_auxiliary_results():
    def loss(x):
        return cubes(x), {"largest": x.max(), "x": x}

    gradient, aux = aj.grad(loss, has_aux=True)(X)
    np.testing.assert_allclose(gradient, 3 * X**2)
    assert aux["largest"] == X.max()
    np.testing.assert_array_equal(aux["x"], X)
    (value, _), again = aj.value_and_grad(loss, has_aux=True)(X)
    assert value == pytest.approx((X**3).sum())
    np.testing.assert_array_equal(again, gradient)
    with pytest.raises(GradientError, match="not a pair"):
        aj.grad(cubes, has_aux=True)(X)


def test_nested_gradients_are_told_apart():
    def inner(x):
        return aj.grad(lambda y: (x * y**2).sum())(x).sum()  # 2 x y, at y = x

    np.testing.assert_allclose(aj.grad(inner)(Y), 4 * Y)
    third = aj.grad(aj.grad(aj.grad(lambda x: x**4)))
    assert third(2.0) == pytest.approx(48.0)
    np.testing.assert_allclose(aj.grad(lambda x: x * aj.grad(lambda y: x + y)(1.0))(3.0), 1.0)


def test_a_compiled_function_may_be_inside():
    inner = aj.jit(cubes)
    np.testing.assert_allclose(aj.grad(inner)(Y), 3 * Y**2)
    np.testing.assert_allclose(aj.grad(lambda x: inner(2 * x))(Y), 24 * Y**2)
    step = aj.jit(lambda x: x - 0.1 * aj.grad(cubes)(x))
    np.testing.assert_allclose(step(Y), Y - 0.3 * Y**2)


def test_arguments_are_not_written():
    def f(x, y):
        x[0] = 2 * x[1]
        y[0] = 0.0
        return (x * y * x).sum()

    x, y = Y.copy(), R.normal(size=4)
    before = y.copy()
    gradient = aj.grad(f)(x, y)
    np.testing.assert_array_equal(x, Y)
    np.testing.assert_array_equal(y, before)
    wanted = 2 * x * y
    wanted[0] = 0
    np.testing.assert_allclose(gradient, wanted)


def test_dtypes_are_those_of_arguments():
    for dtype in (np.float16, np.float32, np.float64):
        assert aj.grad(cubes)(Y.astype(dtype)).dtype == dtype
    mixed = aj.grad(lambda x, y: (x * y).sum(), argnums=(0, 1))(Y.astype("f4"), Y)
    assert [one.dtype.str for one in mixed] == ["<f4", "<f8"]


def test_complex_arguments():
    z = Y + 1j * Y[::-1]
    np.testing.assert_allclose(aj.grad(lambda z: (abs(z) ** 2).sum())(z), 2 * z)
    np.testing.assert_allclose(aj.grad(lambda z: np.sin(z).sum(), holomorphic=True)(z), np.cos(z))
    with pytest.raises(GradientError, match="not one float"):
        aj.grad(np.sum)(z)
    with pytest.raises(GradientError, match="pass complex arguments"):
        aj.grad(np.sum, holomorphic=True)(Y)


def test_no_path_gives_zeros():
    assert not aj.grad(lambda x: np.floor(x).sum() + x.argmax() * 1.0)(Y).any()
    assert not aj.grad(lambda x: 3.0)(Y).any()
    np.testing.assert_array_equal(aj.grad(lambda x: (x > 0).sum() + x.sum())(Y), np.ones(4))


def test_refusals_name_the_line():
    with pytest.raises(GradientError, match=r"float64\[4\], not one float\n.*use vjp"):
        aj.grad(lambda x: 2 * x)(Y)
    with pytest.raises(GradientError, match="int64.*no derivatives"):
        aj.grad(lambda x: x.sum())(np.arange(3))
    with pytest.raises(GradientError, match=r"test_grad.py:\d+: a gradient through linalg.cond"):
        aj.grad(lambda x: np.linalg.cond(x))(np.eye(2))


def test_pullbacks_and_pushforwards():
    matrix = R.normal(size=(4, 4))

    def f(x):
        return {"a": np.tanh(matrix @ x), "n": (x * x).sum()}

    result, pullback = aj.vjp(f, Y)
    np.testing.assert_allclose(result["a"], np.tanh(matrix @ Y))
    u, v = R.normal(size=4), R.normal(size=4)
    (gradient,) = pullback({"a": u, "n": 2.0})
    jacobian = (1 - np.tanh(matrix @ Y) ** 2)[:, None] * matrix
    np.testing.assert_allclose(gradient, u @ jacobian + 4 * Y)
    _, tangent = aj.jvp(f, (Y,), (v,))
    np.testing.assert_allclose(tangent["a"], jacobian @ v)
    np.testing.assert_allclose(tangent["n"], 2 * Y @ v)
    with pytest.raises(GraphValueError, match="of the same shape"):
        pullback({"a": u[:2], "n": 2.0})
    with pytest.raises(GraphValueError, match="other containers"):
        pullback([u, 2.0])


def test_a_pullback_keeps_its_arguments():
    x = Y.copy()
    _, pullback, aux = aj.vjp(lambda x: (x * x, 7.0), x, has_aux=True)
    x[:] = 0
    np.testing.assert_allclose(pullback(np.ones(4))[0], 2 * Y)
    assert aux == 7.0


def test_jacobians():
    def f(x, y):
        return np.outer(x, x) * y

    x, y = R.normal(size=3), R.normal(size=(3, 3))
    wanted = np.zeros((3, 3, 3))
    for k in range(3):
        wanted[k, :, k] += x * y[k]
        wanted[:, k, k] += x * y[:, k]
    for mode in ("auto", "reverse", "forward"):
        np.testing.assert_allclose(aj.jacobian(f, mode=mode)(x, y), wanted)
    first, second = aj.jacobian(f, argnums=(0, 1))(x, y)
    assert first.shape == (3, 3, 3)
    assert second.shape == (3, 3, 3, 3)
    assert second[1, 2, 1, 2] == pytest.approx(x[1] * x[2])
    hessian = aj.hessian(lambda x: (x**3).sum() + x[0] * x[1])(x)
    np.testing.assert_allclose(hessian, np.diag(6 * x) + [[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(GraphValueError, match="no mode of this name"):
        aj.jacobian(f, mode="both")
    with pytest.raises(GradientError, match="no array of floats"):
        aj.jacobian(lambda x: x > 0)(x)


@pytest.mark.parametrize(
    ("function", "axes", "arguments", "expected"),
    [
        (
            lambda d: {"s": d["a"].sum() + d["b"]},
            ({"a": 0, "b": None},),
            ({"a": X, "b": 1.0},),
            {"s": X.sum(1) + 1},
        ),
        (
            lambda d: d["a"].sum() + d["b"],
            {"a": 1, "b": 0},
            ({"a": X, "b": X[0]},),
            X.sum(0) + X[0],
        ),
        (lambda p, w: p[0] * p[1].sum() + w, ([0, None], None), ([X[:, 0], Y], 2.0), None),
        (lambda p, w: p[0] * p[1] + w, [0, None], ((X[:, 0], X[:, 1]), 2.0), None),
    ],
    ids=["dict", "dict for all arguments", "list", "one axis for a container"],
)
def test_axes_of_vmap_have_the_containers_of_arguments(function, axes, arguments, expected):
    found = aj.vmap(function, axes)(*arguments)
    if expected is None:
        (first, second), w = arguments
        expected = first * (second.sum() if second is Y else second) + w
    np.testing.assert_equal(found, expected)


@pytest.mark.parametrize("axes", [({"c": 0},), ({"a": 0},), ((0, 0),)])
def test_other_containers_in_axes_of_vmap_are_refused(axes):
    with pytest.raises(GraphValueError, match="containers in in_axes that the arguments lack"):
        aj.vmap(lambda d: d["a"] + d["b"], axes)({"a": X, "b": X})


def test_maps_over_an_axis():
    matrices = R.normal(size=(3, 4, 4)) + 4 * np.eye(4)
    found = aj.vmap(lambda a, b: np.linalg.solve(a, b), (0, None))(matrices, Y)
    np.testing.assert_allclose(found, [np.linalg.solve(a, Y) for a in matrices])
    rows = aj.vmap(lambda x: x / x.sum() + np.sort(x), in_axes=1, out_axes=1)(X)
    np.testing.assert_allclose(rows, X / X.sum(0) + np.sort(X, axis=0))

    def written(x, k):
        y = np.zeros(4)
        y[k] = x[k] ** 2
        y[1:3] += x[:2]
        return np.concatenate([y, np.cumsum(x)])[::-1]

    places = np.array([[0, 1], [3, 3], [2, 1], [0, 0], [1, 2]])
    found = aj.vmap(written)(X, places)
    np.testing.assert_allclose(found, [written(x, k) for x, k in zip(X, places, strict=True)])
    each = aj.vmap(aj.grad(cubes))(X)
    np.testing.assert_allclose(each, 3 * X**2)
    for call, message in (
        (lambda: aj.vmap(np.dot, (0, 0))(X, Y), "different lengths"),
        (lambda: aj.vmap(np.dot, (0,))(X, Y), "for 2 arguments"),
        (lambda: aj.vmap(np.sum)(1.0), "without dimensions"),
    ):
        with pytest.raises(GraphValueError, match=message):
            call()


def test_derivatives_inside_a_trace():
    @aj.jit
    def step(x, g):
        y, pullback = aj.vjp(np.sin, x)
        _, tangent = aj.jvp(np.cos, (x,), (g,))
        return pullback(g)[0] + tangent + y + np.diag(aj.jacobian(np.exp)(x))

    g = R.normal(size=4)
    np.testing.assert_allclose(step(Y, g), g * np.cos(Y) - g * np.sin(Y) + np.sin(Y) + np.exp(Y))


def test_pickles():
    found = pickle.loads(pickle.dumps(aj.grad(cubes)))
    np.testing.assert_allclose(found(Y), 3 * Y**2)
    np.testing.assert_allclose(copy.copy(aj.grad(cubes))(Y), 3 * Y**2)


def test_an_optimiser_takes_values_with_gradients():
    optimize = pytest.importorskip("scipy.optimize")

    def rosenbrock(x):
        return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()

    found = optimize.minimize(aj.value_and_grad(rosenbrock), np.zeros(5), jac=True)
    np.testing.assert_allclose(found.x, np.ones(5), atol=1e-4)
    by_hand = optimize.minimize(rosenbrock, np.zeros(5), jac=optimize.rosen_der)
    assert abs(found.nit - by_hand.nit) <= 1


def test_gradients_in_the_body_of_a_loop():
    descended = aj.jit(lambda x: aj.fori_loop(0, 3, lambda k, y: y - 0.1 * aj.grad(cubes)(y), x))
    wanted = Y
    for _ in range(3):
        wanted = wanted - 0.3 * wanted**2
    np.testing.assert_allclose(descended(Y), wanted)


def made():
    """A new function."""
    return lambda x: (x**3).sum()


@pytest.mark.parametrize(
    "use",
    [
        lambda f: aj.grad(f)(Y),
        lambda f: aj.vjp(f, Y)[1](1.0),
        lambda f: aj.grad(aj.jit(f))(Y),
        lambda f: aj.hessian(aj.checkpoint(f))(Y),
    ],
)
def test_derivatives_are_freed_with_their_function(use):
    function = made()
    alive = weakref.ref(function)
    use(function)
    del function
    gc.collect()
    assert alive() is None


def test_each_function_has_derivatives_of_its_own():
    function, others = made(), [made() for _ in range(70)]
    gradient = aj.grad(function)
    for other in others:
        assert aj.grad(other) is not gradient
    assert aj.grad(function) is gradient
    assert aj.grad(function, argnums=(0,)) is not gradient
    twice = functools.wraps(function)(lambda x: 2 * function(x))
    np.testing.assert_allclose(aj.grad(twice)(Y), 2 * gradient(Y))
    assert aj.grad(aj.jit(function)) is not gradient
    assert copy.deepcopy(vars(function))["_axiomjit_derivatives"] == {}

    class Model:
        def loss(self, x):
            return (x * x).sum()

    model = Model()
    assert aj.grad(model.loss) is aj.grad(model.loss)
    assert vars(model) == {}


def test_the_page_runs_compiled(tmp_path):
    path = Path(__file__).parents[2] / "docs" / "gradients.md"
    snippets = re.findall(r"```python\n(.*?)```", path.read_text("utf-8"), re.DOTALL)
    assert len(snippets) >= 4
    space = {}
    for number, snippet in enumerate(snippets):
        path = tmp_path / f"snippet_{number}.py"  # a loop is a region where its source is known
        path.write_text(snippet, "utf-8")
        exec(compile(snippet, str(path), "exec"), space)


def test_branches_on_values_are_guards():
    def f(x):
        if x.sum() > 0:
            return (x**2).sum()
        return 3 * x.sum()

    gradient = aj.grad(f)
    for x in (np.ones(3), -np.ones(3), np.ones(3)):
        wanted = 2 * x if x.sum() > 0 else np.full(3, 3.0)
        np.testing.assert_allclose(gradient(x), wanted)


def test_a_function_without_a_program_is_refused_if_strict():
    def f(x):
        return float(str(x[0])) * x.sum()

    with pytest.raises(aj.errors.AxiomError, match="value|text"):
        aj.grad(f, strict=True)(Y)
    with np.errstate(all="raise"), pytest.raises(aj.errors.NeedsValuesError, match="np.errstate"):
        aj.grad(cubes, strict=True)(Y)


@dataclasses.dataclass
class Parameters:
    weights: np.ndarray
    bias: float


class Model:
    def __init__(self):
        self.scale = 2.0

    def loss(self, x):
        return self.scale * (x**2).sum()


def test_dataclasses_and_methods():
    found = aj.grad(lambda p: (p.weights**2).sum() * p.bias)(Parameters(Y, 2.0))
    assert isinstance(found, Parameters)
    np.testing.assert_allclose(found.weights, 4 * Y)
    assert found.bias == pytest.approx((Y**2).sum())
    model = Model()
    gradient = aj.grad(model.loss)
    for scale in (2.0, 3.0):
        model.scale = scale
        np.testing.assert_allclose(gradient(Y), 2 * scale * Y)
        np.testing.assert_allclose(np.diag(aj.hessian(model.loss)(Y)), 2 * scale)


@pytest.mark.parametrize("mode", ["reverse", "forward"])
def test_jacobians_of_and_by_numbers(mode):
    by_array = aj.jacobian(cubes, mode=mode)
    np.testing.assert_allclose(by_array(Y), 3 * Y * Y)
    by_number = aj.jacobian(lambda t: np.sin(t * Y), mode=mode)
    np.testing.assert_allclose(by_number(0.3), Y * np.cos(0.3 * Y))
    assert aj.jacobian(lambda t: t**3, mode=mode)(2.0) == 12.0
