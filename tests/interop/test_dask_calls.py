"""Compiled functions of Dask arrays: laziness, tasks, tokens, tracing, labels, gradients."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.dispatch.jit import jit

da = pytest.importorskip("dask.array")

import dask  # noqa: E402 - below the modules that may lack
from dask.base import tokenize  # noqa: E402

from axiomjit.interop.dask_arrays import Arrays  # noqa: E402
from axiomjit.runtime.memory import allocation  # noqa: E402
from axiomjit.scale.tasks import BlockTask  # noqa: E402

ROWS = np.arange(60.0).reshape(12, 5) ** 1.5


@pytest.fixture(autouse=True)
def evaluated(monkeypatch):
    """Blocks are evaluated in NumPy: what is compiled does not matter here."""
    monkeypatch.setattr(config, "disable", True)


def in_blocks(values=ROWS, chunks=(5, 5)):
    return da.from_array(values, chunks=chunks)


def computed(array):
    return array.compute(scheduler="synchronous")


def standardise(x):
    return (x - x.mean(0)) / x.std(0)


def tasks_of(array):
    """The block tasks of an array's graph, one for each time that one is in it."""
    found = []

    def visit(one):
        function = getattr(one, "func", None)
        if isinstance(function, BlockTask):
            found.append(function)
        for part in getattr(one, "args", ()):
            visit(part)

    for value in dict(array.dask).values():
        visit(value)
    return found


def test_nothing_is_computed_by_a_call():
    def fail(block):
        raise AssertionError("a block was computed")

    x = in_blocks().map_blocks(fail, dtype="f8", meta=np.ones((0, 0)))
    made = jit(standardise)(x)
    assert (made.shape, made.dtype, made.chunks) == ((12, 5), np.float64, ((5, 5, 2), (5,)))


def test_one_task_per_block_and_stage():
    made = jit(lambda x: (x.mean(0), x.std(0), x.sum()))(in_blocks())
    assert len(tasks_of(made[0])) == 3 + 1  # the sums' task divides
    assert len(tasks_of(jit(standardise)(in_blocks()))) == 2 * 3


def test_equal_calls_have_equal_keys():
    f = jit(standardise)
    assert f(in_blocks()).name == f(in_blocks()).name == jit(standardise)(in_blocks()).name
    assert f(in_blocks()).name != f(in_blocks(chunks=(4, 5))).name
    assert f(in_blocks()).name != jit(lambda x: x - x.mean(0))(in_blocks()).name
    assert tokenize(f) == tokenize(f)


def test_tasks_are_small_where_a_function_holds_a_large_array():
    held = np.ones((5, 40_000))
    made = jit(lambda x: np.tanh(x @ held).sum(1))(in_blocks())
    assert max(len(pickle.dumps(task)) for task in tasks_of(made)) < 4096
    np.testing.assert_allclose(computed(made), np.tanh(ROWS @ held).sum(1))


def test_a_task_is_what_its_pickle_is():
    (task,) = set(tasks_of(jit(lambda x: x * 2.0)(in_blocks(chunks=12))))
    copied = pickle.loads(pickle.dumps(task))
    np.testing.assert_array_equal(copied(ROWS), task(ROWS))
    assert copied.token == task.token


def test_blocks_of_other_lengths_compile_nothing(monkeypatch):
    monkeypatch.setattr(config, "disable", False)
    f = jit(lambda x: (x * 3.0 - x.max(0)).sum(1))
    given = np.random.default_rng(0).normal(size=(60, 7))
    computed(f(in_blocks(given, (20, 7))))
    before = aj.stats()["compiles"]
    for shape, chunks in (((60, 7), (25, 7)), ((51, 9), (17, 9)), ((40, 20), (20, 20))):
        x = np.resize(given, shape)
        found = computed(f(in_blocks(x, chunks)))
        np.testing.assert_allclose(found, (x * 3.0 - x.max(0)).sum(1))
    assert aj.stats()["compiles"] == before


@pytest.mark.parametrize(("policy", "reads"), [("auto", 2), ("always", 2), ("never", 1)])
def test_sources_are_read_again(policy, reads, monkeypatch):
    monkeypatch.setattr(config, "_reread", policy)
    count = []

    def source(block):
        count.append(block.size)
        return block

    x = in_blocks().map_blocks(source, dtype="f8", meta=np.ones((0, 0)))
    made = jit(standardise)(x)
    np.testing.assert_allclose(computed(made), standardise(ROWS))
    assert sum(count) == reads * ROWS.size


def test_arrays_in_memory_are_not_read_again():
    def sources(x):
        return sum(name.startswith("array-") for name in jit(standardise)(x).dask.layers)

    assert sources(in_blocks()) == 1
    assert len(jit(standardise)(in_blocks().persist()).dask.layers) < len(
        jit(standardise)(in_blocks() + 0).dask.layers
    )


def test_arguments_and_arrays_from_outside():
    row, column = np.arange(5.0), np.arange(12.0)

    def f(x, y, k, *, factor):
        return x * factor + y[:, None] * row + k

    made = jit(f)(in_blocks(), column, 3, factor=0.5)
    np.testing.assert_allclose(computed(made), f(ROWS, column, 3, factor=0.5))


def test_results_in_containers_and_numbers():
    made = jit(lambda x: {"a": x * 2, "n": x.shape[0], "x": x})(x := in_blocks())
    assert made["n"] == 12
    assert made["x"] is x
    np.testing.assert_array_equal(computed(made["a"]), ROWS * 2)


@pytest.mark.parametrize("name", ["einsum", "fold", "elementwise", "grad"])
def test_doors_of_the_language_inside(name):
    calls = {
        "einsum": lambda x: aj.einsum("ij,kj->ik", x, x),
        "fold": lambda x: aj.fold("sum", x, axes=0),
        "elementwise": lambda x: aj.elementwise(lambda a: a * 2.0, "broadcast")(x),
        "grad": lambda x: aj.grad(lambda y: ((y - y.mean(0)) ** 3).sum())(x),
    }
    made = jit(calls[name])(in_blocks())
    assert isinstance(made, da.Array)
    np.testing.assert_allclose(computed(made), jit(calls[name])(ROWS))


def test_gradients_keep_blocks():
    made = aj.grad(lambda x: (np.sin(x) * x).sum())(in_blocks())
    assert made.chunks == in_blocks().chunks
    np.testing.assert_allclose(computed(made), np.cos(ROWS) * ROWS + np.sin(ROWS))


@pytest.mark.parametrize("name", ["standardise", "rolling", "diff", "weighted"])
def test_dask_arrays_in_data_arrays(name):
    xr = pytest.importorskip("xarray")
    calls = {
        "standardise": lambda a: (a - a.mean("t")) / a.std("t"),
        "rolling": lambda a: a.rolling(t=3).mean(),
        "diff": lambda a: a.diff("t"),
        "weighted": lambda a: a.weighted(xr.DataArray(np.arange(5.0), dims="c")).mean("c"),
    }
    x = xr.DataArray(ROWS, dims=("t", "c"), coords={"t": np.arange(12), "c": list("abcde")})
    with xr.set_options(use_bottleneck=False):
        made, want = jit(calls[name])(x.chunk({"t": 5})), calls[name](x)
    assert made.chunks is not None
    xr.testing.assert_allclose(made.compute(scheduler="synchronous"), want)


def anomalies(a):
    return a.groupby("t.month") - a.groupby("t.month").mean()


@pytest.mark.parametrize(
    "name",
    [
        *("mean", "std", "count", "seasons", "resampled", "anomalies"),
        *("first", "last", "first of all", "last of days", "chosen"),
    ],
)
def test_groups_of_dask_arrays_in_data_arrays(name):
    xr, pd = pytest.importorskip("xarray"), pytest.importorskip("pandas")
    calls = {
        "mean": lambda a: a.groupby("t.month").mean(),
        "std": lambda a: a.groupby("t.month").std(ddof=1),
        "count": lambda a: a.groupby("t.dayofyear").count(),
        "seasons": lambda a: (a > 9.0).groupby("t.season").any(),
        "resampled": lambda a: a.resample(t="10D").max(),
        "anomalies": anomalies,
        "first": lambda a: a.groupby("t.month").first(),
        "last": lambda a: a.groupby("t.season").last(),
        "first of all": lambda a: a.groupby("t.month").first(skipna=False),
        "last of days": lambda a: a.resample(t="9D").last(),
        "chosen": lambda a: a.isel(t=[3, 99, 40]),
    }
    values = np.where(np.arange(600) % 11 == 0, np.nan, np.arange(600.0) % 13).reshape(120, 5)
    days = pd.date_range("2001-01-01", periods=120)
    x = xr.DataArray(values, dims=("t", "c"), coords={"t": days, "c": list("abcde")})
    with xr.set_options(use_bottleneck=False, use_flox=False, use_numbagg=False):
        want = calls[name](x)
        for chunks in ({"t": 37}, {"c": 2}):
            made = jit(calls[name])(x.chunk(chunks))
            assert made.chunks is not None
            xr.testing.assert_allclose(made.compute(scheduler="synchronous"), want)


def test_objects_that_the_function_makes_are_new_in_each_call():
    f = jit(lambda x: (x * 2.0, np.arange(3), {"a": [1, 2]}))
    first, second = f(in_blocks()), f(in_blocks())
    assert first[1].tolist() == [0, 1, 2]
    assert first[1] is not second[1]
    assert first[2] == {"a": [1, 2]}


def test_the_report_names_classes_stages_tasks_and_bytes():
    text = jit(standardise).axes_report(aj.spec((1000, 8), chunks=(100, 8)))
    assert "x axis 0: reduce in sum" in text
    assert "x axis 0: map in subtract" in text
    assert "2: divide: 10 tasks, reading up to 6.53 kB per block" in text
    stencil = jit(lambda x: x[1:] - x[:-1]).axes_report(in_blocks())
    assert "halo(0, 1)" in stencil
    assert "contract" in jit(lambda x: x.T @ x).axes_report(in_blocks())
    assert "scan" in jit(lambda x: np.cumsum(x, 0)).axes_report(in_blocks())


def test_readers_of_a_scan_compute_it():
    def tasks(f):
        found = jit(f)(in_blocks(chunks=(5, 5)))
        np.testing.assert_allclose(computed(found), f(ROWS))
        return len(tasks_of(found))

    assert tasks(lambda x: np.cumsum(x, 0)) == 2 * 3
    assert tasks(lambda x: np.sqrt(np.cumsum(x, 0)).max(0)) == 2 * 3
    assert tasks(lambda x: np.cumsum(x, 0)[1:] * x[:-1]) == 3 * 3  # blocks with halos read it


def test_errors_outside_of_functions_name_the_line_of_the_call():
    add = aj.elementwise(lambda a, b: a + b, "broadcast")
    x, other = in_blocks(chunks=(5, 5)), in_blocks(chunks=(4, 5))
    lines = []
    for call in (
        lambda: add(x, other),
        lambda: add(x, other),
    ):
        with pytest.raises(GraphValueError) as caught:
            call()
        lines.append(int(caught.value.where.rpartition(":")[2]))
        assert __file__ in caught.value.where
    assert lines[1] == lines[0] + 1


def test_a_source_of_other_shapes_is_an_error():
    wrong = in_blocks().map_blocks(lambda b: b[1:], dtype="f8", meta=np.ones((0, 0)))
    made = jit(lambda x, y: x + y)(in_blocks(), wrong)
    with pytest.raises(GraphValueError, match=r"a block of y(.|\n)*chunks say the lengths"):
        computed(made)


def test_bits_depend_on_blocks_alone():
    x = in_blocks(np.random.default_rng(1).normal(size=(400, 3)), (7, 3))
    made = jit(lambda v: (v.sum(0), v.var(0)))(x)
    for one in made:
        first = one.compute(scheduler="synchronous")
        for workers in (1, 2, 4):
            again = one.compute(scheduler="threads", num_workers=workers)
            assert first.tobytes() == again.tobytes()


def test_arrays_of_a_call_are_made_once(monkeypatch):
    calls = []
    run = Arrays._run
    monkeypatch.setattr(Arrays, "_run", lambda self, stage: calls.append(stage) or run(self, stage))
    jit(lambda x: (x * 2, x.sum(0), x.T * 2))(in_blocks())
    assert len(calls) <= 2


@pytest.mark.filterwarnings("ignore")  # of sockets that distributed leaves open
def test_workers_give_the_bits_of_threads(monkeypatch):
    distributed = pytest.importorskip("distributed")
    x = in_blocks(np.random.default_rng(2).normal(size=(90, 4)), (20, 4))
    made = jit(lambda v: standardise(v).max(1) + np.cumsum(v, 0).sum(1))(x)
    options = {"processes": False, "dashboard_address": ":0", "n_workers": 1}
    monkeypatch.setattr(allocation._Process, "most", allocation._Process.most)
    # The worker is this process, which may hold more than the limit of the worker: a worker that
    # pauses at its limit would never start.
    actions = dict.fromkeys(("target", "spill", "pause", "terminate"), False)
    with (
        dask.config.set({f"distributed.worker.memory.{k}": v for k, v in actions.items()}),
        distributed.Client(**options, memory_limit="400 MB", timeout="60s") as client,
    ):
        client.wait_for_workers(1, timeout=60)  # an error that counts the workers, not a wait
        found = client.compute(made).result(timeout=120)
    assert found.tobytes() == computed(made).tobytes()
    assert allocation.kept_limit() == 20_000_000  # a twentieth of the worker's memory


def test_tasks_run_on_the_configured_threads(monkeypatch):
    seen = []

    def counted(count):
        seen.append(count)
        return nullcontext()

    monkeypatch.setattr("axiomjit.runtime.execution.workers.threads", counted)
    made = jit(lambda v: v * 2.0)(in_blocks(chunks=12))
    computed(made)
    monkeypatch.setattr(config, "_worker_threads", 2)
    computed(made)
    assert seen == [1, 2]
