"""Matrix products use the caller's threads, and afterwards as many as before."""

import threading

import numpy as np
import pytest

import axiomjit
from axiomjit.runtime.execution import library_calls
from axiomjit.runtime.execution.workers import granted


class Library:
    """Stands in for a library with threads of its own."""

    def __init__(self):
        self.count, self.seen = 8, []

    def get_num_threads(self):
        return self.count

    def set_num_threads(self, count):
        self.count = count
        self.seen.append(count)


@pytest.fixture(name="library")
def make_library(monkeypatch):
    """The only library, on a machine of four CPUs."""
    library = Library()
    monkeypatch.setattr(library_calls, "_libraries", lambda: (library,))
    monkeypatch.setattr("axiomjit.runtime.execution.workers.granted", lambda: 4)
    return library


A = np.random.default_rng(0).normal(size=(40, 40))


def test_products_without_a_limit_leave_the_library_alone(library):
    assert np.allclose(axiomjit.jit(lambda a, b: a @ b)(A, A), A @ A)
    assert library.seen == []


@pytest.mark.parametrize("count", [1, 3, 64])
def test_products_are_limited_and_the_number_of_before_comes_back(library, count):
    product = axiomjit.jit(lambda a, b: a @ b)
    with axiomjit.threads(count):
        assert np.allclose(product(A, A), A @ A)
    assert library.seen == [min(count, 4), 8]


def test_a_failing_product_gives_the_number_back(library):
    with pytest.raises(ZeroDivisionError), axiomjit.threads(2), library_calls.limited():
        raise ZeroDivisionError
    assert (library.count, library.seen) == (8, [2, 8])


def test_the_smallest_limit_of_calls_at_the_same_time_holds(library):
    inside, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with axiomjit.threads(1), library_calls.limited():
            inside.set()
            assert leave.wait(30)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(30)
    with axiomjit.threads(3), library_calls.limited():
        seen.append(library.count)
        leave.set()
        thread.join()
        seen.append(library.count)
    assert (seen, library.count) == ([1, 3], 8)


def test_real_libraries():
    pytest.importorskip("threadpoolctl")
    libraries = library_calls._libraries()
    before = [one.get_num_threads() for one in libraries]
    with axiomjit.threads(1), library_calls.limited():
        assert all(one.get_num_threads() == 1 for one in libraries)
    assert [one.get_num_threads() for one in libraries] == before
    assert granted() >= 1


def test_parts_are_shared_by_threads_of_ours(library):
    """Libraries are kept to one thread each meanwhile; without libraries all is done in order."""
    seen = []

    def compute(low, high):
        seen.append((low, high, library.count, threading.get_ident()))
        return 0

    with axiomjit.threads(3):
        library_calls.share_parts(50, compute)
    assert sorted(k for low, high, *_ in seen for k in range(low, high)) == [*range(50)]
    assert {count for _, _, count, _ in seen} == {1}
    assert library.count == 8


def test_parts_run_in_order_where_libraries_cannot_be_limited(monkeypatch):
    monkeypatch.setattr(library_calls, "_libraries", lambda: ())
    seen = []

    def compute(low, high):
        seen.extend(range(low, high))
        assert threading.current_thread() is threading.main_thread()
        return 0

    library_calls.share_parts(50, compute)
    assert seen == [*range(50)]


def test_convolutions_have_the_same_bits_for_every_number_of_threads():
    x, f = (
        np.random.default_rng(0).random(n, np.float32) for n in ((3, 40, 40, 24), (9, 3, 3, 24))
    )
    layer = axiomjit.jit(lambda x, f: axiomjit.nn.conv2d(x, f, use_padding=True))
    with axiomjit.threads(1):
        alone = layer(x, f)
    with axiomjit.threads(2):
        np.testing.assert_array_equal(layer(x, f), alone)
