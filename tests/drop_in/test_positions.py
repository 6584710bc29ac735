"""Indices with positions, lists and masks: what is recorded, checked and left to NumPy."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy
import pytest

import axiomjit
import axiomjit.numpy as np
from axiomjit.base.config import config
from axiomjit.numpy import positions
from axiomjit.numpy.lazy_arrays import wrap
from tests.drop_in.sequences import way
from tests.drop_in.worlds import fresh_paths

AT, ROWS = numpy.array([0, 2, 1]), numpy.array([[0], [2]])
READS = (
    *("x[i]", "x[:, i]", "x[..., i]", "x[i, i]", "x[i, :, i]", "x[j, i]", "x[i, None, i]"),
    *("x[1, :, i]", "x[k, :, i]", "x[-k, i]", "x[[0, 2]]", "x[[0, k], [1, 1]]", "x[k:, i]"),
    *("x[[[0], [1]], [1, 2]]", "x[numpy.int64(k):, i]", "x[[]]", "x[i % 3]", "x[-i]"),
    *("x[i.astype('i1')]", "x[i.astype('u2')]", "(x * 2)[i] + 1", "x[i, [3, 0, k]]"),
    *("x[:, numpy.int64(k)]", "x[numpy.int64(k):, ::numpy.int64(2)]"),
)
WRITES = (
    *("x[i] = 1", "x[i] = k", "x[[0, k]] = k * 1.5", "x[:, i] = v", "x[i] = x[i] + 1"),
    *("x[i, i] = v", "x[[1, 1]] = x[1:3]", "x[j, i] = v", "x[:, m] = 0", "x[m, 1] = 2"),
    *("x[...] = [1, 2, 3, 4, k]", "x[0] = [[1], [2], [3], [k]]", "x[i] = x[:] * 2"),
    *("x[1, 2] = 1, 2, 3, k, 5", "x[i, :, 1:2] = 3", "x[i] += 1", "x[x.astype(int) % 3] = 2"),
)


@contextmanager
def all_lazy():
    """All arrays are lazy, and no path is known."""
    with way("evaluated"), fresh_paths(0, 200):
        yield


def outcome(text, k, convert):
    """The result of an expression, or the array that a statement writes; or the error."""
    space = {"x": numpy.arange(60.0).reshape(3, 4, 5), "i": AT.copy(), "j": ROWS.copy()}
    space |= {"m": numpy.array([True, False, True, True]), "v": numpy.arange(5.0)}
    space["m"] = space["m"][:3] if "[m," in text else space["m"]
    space = {name: convert(one) for name, one in space.items()} | {"k": k, "numpy": numpy}
    try:
        exec(text if " = " in text or "+=" in text else f"x = {text}", space)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    found = space["x"]
    return numpy.array(found).tolist(), found.dtype, found.strides


@pytest.mark.parametrize("text", READS + WRITES)
def test_recorded_indices_mean_what_they_mean_in_numpy(text):
    with all_lazy():
        before = axiomjit.stats()["at_once"]
        for k in (1, 2, 1, 2, 0):
            assert outcome(text, k, wrap) == outcome(text, k, lambda one: one)
        at_once = axiomjit.stats()["at_once"] - before
    assert at_once == 0 or "v" in text


@pytest.mark.parametrize(
    "text", ["x[[0, k]]", "x[k, i]", "x[i + k]", "x[[0, -k]] = 1", "x[i + k] = 0"]
)
def test_errors_come_at_the_line(text):
    with all_lazy():
        found = [outcome(text, k, wrap) for k in (0, 1, 0, 9, 1)]
        assert found == [outcome(text, k, lambda one: one) for k in (0, 1, 0, 9, 1)]
    assert any("IndexError" in one for one in found if isinstance(one, str))


def test_one_program_runs_in_a_kernel():
    before = axiomjit.stats()["kernels_run"]
    with way("compiled"), fresh_paths(0, 200):
        for _ in range(4):
            x, i = wrap(numpy.arange(12.0).reshape(4, 3)), wrap(AT.copy())
            x[i[:2]] = x[[3, 1]] * 2
            found = x[:, i].sum(axis=1)
            assert numpy.asarray(found).tolist() == [60.0, 12.0, 24.0, 30.0]
    assert axiomjit.stats()["kernels_run"] > before


@pytest.mark.parametrize(
    ("places", "is_recorded"),
    [("[1, 1, 0]", True), ("i[::-1] * 0", True), ("(i * 0)[::-1]", False)],
)
def test_the_last_of_repeated_positions_stays(places, is_recorded):
    """NumPy goes through memory backwards where positions lie backwards; kernels never do."""
    text = f"x[{places}] = numpy.arange(60.0).reshape(3, 4, 5)"
    with all_lazy():
        before = axiomjit.stats()["at_once"]
        for _ in range(4):
            assert outcome(text, 1, wrap) == outcome(text, 1, lambda one: one)
        assert (axiomjit.stats()["at_once"] == before) is is_recorded


def recorded(text, **space):
    """True if the last of several runs of an expression is pending."""
    for _ in range(5):
        found = eval(text, {"numpy": numpy} | space)
        is_pending = getattr(found, "is_lazy", False)
        numpy.asarray(found)
    return is_pending


def test_numpy_gathers_single_elements_of_stored_arrays():
    table = wrap(numpy.ones((config.lazy_from, 64)))
    rows = wrap(numpy.arange(config.lazy_from))
    long = wrap(numpy.ones(64 * config.lazy_from))
    few = numpy.arange(20)
    assert recorded("x[i]", x=table, i=rows)
    assert not recorded("x[i]", x=table, i=few)
    assert not recorded("x[:, i]", x=table, i=few)
    assert not recorded("x[i]", x=long, i=rows)
    assert recorded("(x * 2)[i]", x=long, i=few)
    assert not recorded("(x * 2)[i % 7]", x=wrap(numpy.ones(2 * config.lazy_from)), i=few)


@pytest.mark.parametrize(
    ("text", "is_compiled"), [("table[rows]", False), ("table[rows] * 2.0", True)]
)
def test_gathers_alone_stay_in_numpy(text, is_compiled):
    space = {"table": wrap(numpy.ones((4096, 64))), "rows": wrap(numpy.arange(4096))}
    with way("compiled"), fresh_paths(4096, 200):
        for _ in range(5):
            numpy.asarray(eval(text, space))
        assert axiomjit.explain_last().is_compiled is is_compiled


def test_planted_gathers_of_all_kinds_are_seen():
    long, few = wrap(numpy.ones(64 * config.lazy_from)), numpy.arange(20)
    with patch.object(positions, "_pays", lambda array, parts: True):
        assert recorded("x[i]", x=long, i=few)


def test_pending_masks_do_not_end_a_segment():
    x = wrap(numpy.ones(2 * config.lazy_from))
    for _ in range(4):
        before = axiomjit.stats()["segments"]
        y = x * 2
        y[y > 1] = 0
        y[:4] = [1, 2, 3, 4]
        assert numpy.asarray(y).sum() == 10
    assert axiomjit.stats()["segments"] == before + 1


def test_slices_with_numpys_integers_are_views():
    x = wrap(numpy.zeros(2 * config.lazy_from))
    for _ in range(3):
        y = x[numpy.int64(3) : x.argmax() + 5] + x[: numpy.int8(2)]
        was_lazy, found = y.is_lazy, y.tolist()
        assert found == [0.0, 0.0]
    assert was_lazy


def test_questions_of_shape_and_type_are_no_looks():
    x = wrap(numpy.ones((2, config.lazy_from)))
    for _ in range(3):
        y = x * 2 + 1
        assert (np.ndim(y), np.shape(y), np.size(y)) == (2, y.shape, y.size)
        assert (np.size(a=y, axis=1), np.iscomplexobj(y)) == (config.lazy_from, False)
    assert y.is_lazy
