"""Which calls share a program, and which need another one."""

import threading

import numpy as np
import pytest

import axiomjit

pytestmark = pytest.mark.usefixtures("memory_only")


def compiles(call):
    before = axiomjit.stats()["compiles"]
    call()
    return axiomjit.stats()["compiles"] - before


@pytest.mark.parametrize(
    "function",
    [lambda x: ((x - 7.0) ** 2).sum(), lambda x: x * 7 + x.T.T, lambda x: x.sum(axis=0) - 7.0],
    ids=["total", "elementwise", "columns"],
)
def test_a_thousand_shapes_of_one_function(function):
    f = axiomjit.jit(function)
    shapes = [(5 + k, 6 + 2 * k % 37) for k in range(1000)]

    def call():
        for shape in shapes:
            f(np.zeros(shape))

    assert len(set(shapes)) == 1000
    assert compiles(call) <= 2
    info = f.cache_info()
    assert (info.bound, info.hits) == (1000, 0)
    assert info.traced <= 6


def test_the_second_and_the_hundredth_length_cost_no_compile():
    f = axiomjit.jit(lambda x, y: ((x - y) ** 2).sum() * 11)
    for n in (10, 3000):
        f(np.zeros(n), np.zeros(n))

    def call():
        for n in range(11, 111):
            assert f(np.ones(n), np.zeros(n)) == 11 * n

    assert compiles(call) == 0


def test_renaming_and_other_constants_share_the_kernel():
    axiomjit.jit(lambda x, y: (x - 1.25) * y + 13)(np.zeros(9), np.zeros(9))

    def call():
        assert axiomjit.jit(lambda b, a: (b - 4.5) * a + 3)(np.ones(9), np.ones(9))[0] == -0.5

    assert compiles(call) == 0


def test_layouts_of_one_class_are_told_apart():
    f = axiomjit.jit(lambda x, y: x[:, None] - y[None] if x.ndim == 1 else x - y.T)
    for n in (1, 2, 3, 4, 5, 6, 5, 0, 4):
        x = np.arange(float(n))
        np.testing.assert_array_equal(f(x, x[::-1]), x[:, None] - x[::-1][None])
        square = np.arange(n * n * 1.0).reshape(n, n)
        np.testing.assert_array_equal(f(square, square), square - square.T)


def test_guards_of_clipped_slices():
    f = axiomjit.jit(lambda x: (x[:100] * 2, x[-50:] + 1, x[10::3] - 1))
    for n in (200, 30, 100, 101, 99, 50, 49, 9, 10, 11, 7, 3, 0, 200):
        x = np.arange(float(n))
        for got, want in zip(f(x), (x[:100] * 2, x[-50:] + 1, x[10::3] - 1), strict=True):
            np.testing.assert_array_equal(got, want)


def test_guards_of_equal_and_unequal_lengths():
    f = axiomjit.jit(lambda x, y: x + y)
    for n, m in ((8, 8), (9, 9), (1, 9), (9, 1), (2, 2), (1, 1)):
        assert f(np.ones(n), np.ones(m)).shape == (max(n, m),)
    for n, m in ((8, 9), (2, 3), (9, 4)):
        with pytest.raises(ValueError, match="lengths"):
            f(np.ones(n), np.ones(m))
    halves = axiomjit.jit(lambda x: x[::2] + x[1::2])
    assert halves(np.ones(10)).shape == (5,)
    with pytest.raises(ValueError, match="meet"):
        halves(np.ones(11))


def test_square_and_other_matrices():
    f = axiomjit.jit(lambda x: x @ x if x.shape[0] == x.shape[1] else x.sum())
    assert f(np.ones((6, 7))) == 42
    assert f(np.ones((6, 6))).shape == (6, 6)
    assert f(np.ones((7, 6))) == 42


def test_loops_over_a_length_follow_it():
    def total(x):
        result = 0.0
        for k in range(x.shape[0]):
            result = result + k * x[k : k + 1].sum()
        return result

    f = axiomjit.jit(total)
    for n in (3, 5, 6, 5):
        assert f(np.ones(n)) == n * (n - 1) / 2


def test_static_arguments():
    f = axiomjit.jit(lambda x, how, n=1: x * n if how == "times" else x + n, static_argnames="n")
    x = np.ones(6)
    assert f(x, "times", n=5)[0] == 5
    assert f(x, "plus", n=5)[0] == 6
    assert f(x, how="times")[0] == 1
    assert f(x, "times", 1.0).dtype == float
    flag = axiomjit.jit(lambda x, flag: -x if flag else x)
    assert (flag(x, True)[0], flag(x, False)[0], flag(x, None)[0]) == (-1, 1, 1)


def test_containers_and_kinds_of_parameters():
    def f(first, /, second=2.0, *rest, key, **more):
        return {"sum": first + second, "rest": [r * key for r in rest], "more": more, "none": None}

    x = np.ones(5)
    compiled = axiomjit.jit(f)
    for args, named in (
        ((x,), {"key": 2}),
        ((x, x, x, x + 1), {"key": x, "z": x, "a": (x, [x])}),
        ((x,), {"key": 1.5, "second": x}),
    ):
        np.testing.assert_equal(compiled(*args, **named), f(*args, **named))
    with pytest.raises(TypeError, match="key"):
        compiled(x)


def test_first_call_from_many_threads_compiles_once():
    f = axiomjit.jit(lambda x: (x * 3.5 - 1) / (x + 17) + np.sqrt(x))
    x, results, gate = np.arange(1000.0), [], threading.Barrier(8)

    def call():
        gate.wait()
        results.append(f(x))

    def run():
        workers = [threading.Thread(target=call) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    assert compiles(run) == 1
    assert len(results) == 8
    for result in results:
        np.testing.assert_array_equal(result, results[0])
