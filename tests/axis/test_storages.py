"""What handles of storages share, what values of them keep, and that writes are not lost."""

import copy
import gc
import pickle
import threading

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.graph.nodes import post_order
from axiomjit.graph.storages import Assign
from axiomjit.transformers import make_transformer
from tests.axis.running import evaluated

A, B, T = aj.make_axis(4, "A"), aj.make_axis(6, "B"), aj.make_axis(3, "T")
AT = np.arange(24.0).reshape(4, 6) / 7


def square(**options):
    return aj.variable([A, B], initial_value=AT, **options)


def line(axis):
    return aj.variable([axis], initial_value=np.arange(float(axis.length)))


def places():
    return aj.variable([T], "i8", np.array([1, 0, 3]))


READERS = {
    "add": lambda: square() + line(B),
    "where": lambda: aj.where(square() > 1, line(A), line(B)),
    "astype": lambda: aj.astype(square(), "f4"),
    "view": lambda: square()[1:, ::-2],
    "index": lambda: square()[{B: 2}],
    "transposed": lambda: aj.axes_with_order(square(), [B, A]),
    "T": lambda: square().T,
    "real": lambda: (square() * 1j + line(A)).imag,
    "cast_axes": lambda: aj.rename(square(), {A: "q"}),
    "broadcast": lambda: aj.broadcast(line(A), [A, B]),
    "expand_dims": lambda: aj.expand_dims(line(A), T, 1),
    "flatten": lambda: aj.flatten(square()),
    "unflatten": lambda: aj.unflatten(aj.flatten(square()) + 1),
    "slice_along_axis": lambda: aj.slice_along_axis(square(), A, 2),
    "pad": lambda: aj.pad(square(), [(1, 0), (0, 2)]),
    "stack": lambda: aj.stack([line(A), line(A), line(A) * 2], T),
    "concat": lambda: aj.concat_along_axis([square(), square()], B),
    "one_hot": lambda: aj.one_hot(places(), A),
    "take": lambda: aj.take(square(), places(), A),
    "sum": lambda: aj.sum(square(), [A]),
    "variance": lambda: aj.variance(square(), out_axes=[A]),
    "argmax": lambda: aj.argmax(square(), [B]),
    "tensor_size": lambda: aj.tensor_size(square()),
    "dot": lambda: aj.dot(square(), line(B)),
    "cumsum": lambda: aj.cumsum(square(), B),
    "sort": lambda: aj.sort(square(), A),
    "softmax": lambda: aj.softmax(square()),
    "cross_entropy": lambda: aj.cross_entropy_binary(aj.sigmoid(square()), aj.sigmoid(line(A))),
    "convolution": lambda: aj.convolution(line(B), aj.slice_along_axis(square(), A, 1)[:3]),
    "pooling": lambda: aj.pooling(square(), {B: 2}),
    "clip": lambda: np.clip(square(), 1, aj.max(square())),
    "numpy": lambda: np.add(square(), line(B)),
    "uniform": lambda: aj.uniform(line(A), aj.min(square()), aj.min(square())),
    "sequential": lambda: aj.sequential([aj.assign(square(), 2), line(A) + square()]),
    "assign": lambda: aj.assign(square()[1], line(B)),
    "materialize": lambda: aj.materialize(square() * line(A)),
    "value_of": lambda: aj.value_of(square()),
}


@pytest.mark.parametrize("name", READERS)
def test_a_value_keeps_the_variables_that_it_reads(name):
    with evaluated():
        made = READERS[name]()
        gc.collect()
        assert made.eval().values.size


def test_what_was_written_is_kept_by_every_handle_of_a_storage():
    x = square()
    row = x[1]
    x[...] = square() + 1
    row[...] = row * line(B)
    del x
    gc.collect()
    with evaluated():
        np.testing.assert_array_equal(row.eval().values, (AT[1] + 1) * np.arange(6.0))


def test_a_statement_may_depend_on_an_axis_that_its_target_has_not():
    n = aj.make_axis(name="n")
    x = aj.variable([A], initial_value=0)
    x[...] = aj.sum(aj.variable([A, n], initial_value=2), [n])
    after, row = x + 0, x[1:]
    n.length = 5
    with evaluated():
        for tensor in (x, after, row):
            assert set(make_transformer().computation(tensor)().tolist()) == {10.0}
            assert set(tensor.eval().values.tolist()) == {10.0}


def test_variables_can_be_pickled_and_copied_with_what_was_written():
    axes = aj.make_axis(4, "A"), aj.make_axis(6, "B")
    x = aj.variable(axes, initial_value=AT)
    x[0] = line(axes[1]) * 3
    doubled = x * 2
    want = AT.copy()
    want[0] = np.arange(6.0) * 3
    other = want.copy()
    other[1] = 7
    with evaluated():
        for again in (copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))):
            y, twice = again((x, doubled))
            y[1] = 7
            np.testing.assert_array_equal(twice.eval().values, want * 2)
            np.testing.assert_array_equal(y.eval().values, other)
            np.testing.assert_array_equal(x.eval().values, want)
        copy.copy(x)[1] = 7  # another handle of the same storage
        np.testing.assert_array_equal(x.eval().values, other)


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_that_make_and_write_variables_at_once_lose_nothing(threads):
    shared = aj.variable([], initial_value=0.0)
    slots = aj.variable([aj.make_axis(threads, "slot")], initial_value=0.0)
    begin = threading.Barrier(threads)
    failed = []

    def work(k):
        try:
            begin.wait()
            for n in range(60):
                own = line(A)
                own[...] = own + shared
                slots[k] = float(n)
                aj.assign(shared, 1.0)
        except Exception as error:  # shown by the test
            failed.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed
    with evaluated():
        assert slots.eval().values.tolist() == [59.0] * threads
    writes = [node for node in post_order((slots.node,)) if isinstance(node, Assign)]
    assert len(writes) == 60 * threads
