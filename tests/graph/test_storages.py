"""Handles of a storage: views of its current version, and writes through them."""

import threading
import weakref

import numpy as np
import pytest

from axiomjit.base.dtypes import FLOAT
from axiomjit.graph import builder
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.nodes import Constant, Graph, Input, Scalar, base_of, post_order
from axiomjit.graph.storages import VersionedStorage, update, view_map
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import identity

START = np.arange(24.0).reshape(4, 6)
SHAPE = dim(4), dim(6)


def write(storage, view, value):
    """What `handle[...] = value` does."""
    seen = view_map(storage.current(view))
    assert seen is not None
    _, target = seen
    source = identity(len(value.shape))
    storage.write(lambda old: update(old, target, value, source, view.shape))


def value_of(storage, node, root):
    return evaluate_graph(Graph((root,), (node,)), (START,), {})[0]


@pytest.mark.parametrize(
    "keys",
    [(slice(1, None),), (2, slice(None, None, -2)), (slice(None, None, 2), 3), (slice(None),)],
)
def test_writes_through_views_mean_what_numpy_does(keys):
    root = Input(FLOAT, 0, SHAPE)
    storage, want = VersionedStorage(root), START.copy()
    first, row = index_node(root, keys), index_node(root, (1,))
    before = builder.elementwise(builder.PRIMITIVES["negative"], storage.current(first))
    new = Constant(FLOAT, want[keys] * 10, first.shape)
    write(storage, first, new)
    want[keys] = want[keys] * 10
    part = index_node(storage.current(row), (slice(2, 5),))  # a view of a view, after a write
    write(storage, part, Constant(FLOAT, np.array([1.0, 2.0, 3.0]), part.shape))
    want[1][2:5] = [1, 2, 3]
    np.testing.assert_array_equal(value_of(storage, storage.version, root), want)
    np.testing.assert_array_equal(value_of(storage, storage.current(first), root), want[keys])
    np.testing.assert_array_equal(value_of(storage, storage.current(part), root), want[1][2:5])
    np.testing.assert_array_equal(value_of(storage, before, root), -START[keys])
    assert base_of(storage.current(first)) is storage.version
    assert storage.current(root) is storage.version


def test_a_view_that_shows_an_element_twice_has_no_place():
    root = Input(FLOAT, 0, (dim(6),))
    assert view_map(builder.view(root, identity(2)[1:], SHAPE)) is None
    same = view_map(root)
    assert same == (root, identity(1))


def test_threads_lose_no_version():
    root = Input(FLOAT, 0, ())
    storage = VersionedStorage(root)
    add, one = builder.PRIMITIVES["add"], Scalar(FLOAT, np.float64(1), False)

    def work():
        for _ in range(200):
            storage.write(lambda old: builder.elementwise(add, old, one))

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(list(post_order((storage.version,)))) == 800 + 2


def test_a_storage_is_freed_with_its_versions_by_reference_counts():
    values = np.ones(6)
    storage = VersionedStorage(Input(FLOAT, 0, (dim(6),)))
    for _ in range(3):
        write(storage, storage.root, Constant(FLOAT, values, (dim(6),)))
    seen = weakref.ref(storage.version), weakref.ref(values)
    del storage, values
    assert [reference() for reference in seen] == [None, None]
