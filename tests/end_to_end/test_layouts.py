"""Arrays in every layout, and index arithmetic beyond 2**31 elements, of which few are touched."""

import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import axiomjit
from axiomjit.base.errors import GraphValueError
from axiomjit.dispatch.arguments import plain_array
from axiomjit.passes.ir.loop_ir import Load, Store
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.symbolic.dims import evaluate
from tests.passes.graphs import follow, lowered, run_plain_case
from tests.runtime.codegen.kernels import run_compiled

BASE = (np.arange(7.0 * 8 * 9) % 23 - 5).reshape(7, 8, 9)
BYTES = np.zeros(BASE.nbytes + 1, "u1")


def misaligned(array, order="C"):
    """A copy whose elements begin at odd addresses."""
    view = BYTES[1:].view(array.dtype)[: array.size].reshape(array.shape, order=order)
    view[...] = array
    return view


def read_only(array):
    array.flags.writeable = False
    return array


LAYOUTS = {
    "dense": BASE,
    "fortran": np.asfortranarray(BASE),
    "permuted": BASE.transpose(1, 2, 0),
    "strided": BASE[::2, 1::3, ::4],
    "backward": BASE[::-1, ::-2, ::-1],
    "partly backward": BASE[:, ::-1],
    "one repeated": np.broadcast_to(BASE[0, 0, 0], (5, 6)),
    "rows repeated": np.broadcast_to(BASE[0], (5, 8, 9)),
    "columns repeated": np.broadcast_to(BASE[0, :, :1], (8, 6)),
    "windows": sliding_window_view(BASE[0, 0], 5),
    "short windows": sliding_window_view(BASE[0].ravel(), 3),
    "windows of windows": sliding_window_view(BASE[0], (3, 6)),
    "windows transposed": sliding_window_view(BASE[0].ravel(), 5).T,
    "windows backward": sliding_window_view(BASE[0].ravel(), 5)[::-1, ::-1],
    "overlapping steps": as_strided(BASE, (6, 7, 5), (48, 16, 8)),
    "diagonals": as_strided(BASE, (5, 6), (8 * 80, 8 * 10)),
    "read-only": read_only(BASE.copy()),
    "misaligned": misaligned(BASE),
    "misaligned fortran": misaligned(BASE, "F"),
    "swapped": BASE.astype(">f8"),
    "swapped fortran": np.asfortranarray(BASE.astype(">f8")),
    "swapped rows repeated": np.broadcast_to(BASE[0].astype(">f8"), (5, 8, 9)),
    "swapped columns repeated": np.broadcast_to(BASE[0, :, :1].astype(">f8"), (8, 6)),
    "swapped permuted": BASE.astype(">f8").transpose(1, 2, 0)[:, ::2],
    "swapped backward": BASE.astype(">f8")[::-1, :, ::-1],
    "number": np.array(2.5),
    "no element": BASE[:, 3:3],
    "no element backward": BASE[:0, ::-1],
    "one element": BASE[3:4, :1, 2:3],
    "long axis of one": BASE[:, :1],
}


@axiomjit.jit
def computed(x):
    return x * 2.0 - 1.0, x + x.T.T


@axiomjit.jit
def summed(x):
    return x.sum(), x.sum(axis=0), x.max(axis=-1, initial=-9.0)


def assert_same_arrays(got, want):
    """Equal in values, dtype, shape and strides."""
    assert len(got) == len(want)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)
        if other.size:
            assert np.asarray(one).strides == np.asarray(other).strides


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")  # swapped ones
@pytest.mark.parametrize("name", LAYOUTS)
def test_results_and_their_layout_are_numpys(name):
    x = LAYOUTS[name]
    assert_same_arrays(computed(x), computed.__wrapped__(x))
    if x.ndim:
        assert_same_arrays(summed(x), summed.__wrapped__(x))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: x * y - x,
        lambda x, y: (x + y[::-1]).sum(),
        lambda x, y: (x, y + 1.0, x[::2] - y[::2]),
        lambda x, y: x @ y,
    ],
)
def test_overlapping_arguments(function):
    base = np.arange(40.0)
    pairs = [(base[:-1], base[1:]), (base, base), (base, base[::-1]), (base[:20], base[::2])]
    compiled = axiomjit.jit(function)
    for x, y in pairs:
        got, want = compiled(x, y), function(x, y)
        assert_same_arrays(*([v] if isinstance(v, np.ndarray | float) else v for v in (got, want)))
    np.testing.assert_array_equal(base, np.arange(40.0))


def test_converted_copies_hold_repeated_elements_once():
    x = np.broadcast_to(np.zeros(41, np.uint8)[1:].view(np.float64), (2**40, 5))
    plain = plain_array(x)
    assert plain.flags.aligned
    assert plain.strides == x.strides
    np.testing.assert_array_equal(axiomjit.jit(lambda x: x[-2:] + x[:2])(x), x[-2:] + x[:2])


def test_two_windows_of_one_array():
    base = np.arange(30.0)
    x, y = sliding_window_view(base, 5), sliding_window_view(base[2:], 3)[:, ::-1]
    function = axiomjit.jit(lambda x, y: (x[:24, 1:4] * y[:24]).sum(axis=1))
    np.testing.assert_array_equal(function(x, y), (x[:24, 1:4] * y[:24]).sum(axis=1))


# --- more than 2**31 elements ---------------------------------------------------------------

FAR = 2**31 + 5


@pytest.fixture(scope="module", name="sparse")
def make_sparse(tmp_path_factory):
    """Bytes in a file of holes, numbered at the far end: elements FAR - 5 to FAR - 1."""
    path = tmp_path_factory.mktemp("far") / "holes"
    with open(path, "wb") as file:
        file.truncate(FAR)
    bytes_ = np.memmap(path, "u1", "r+")
    bytes_[-5:] = [1, 2, 3, 4, 5]
    return bytes_


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[-5:] * 2,
        lambda x: x[:: 2**30] + 1,
        lambda x: x[:: -(2**30)] + 1,
        lambda x: x[2**31 :].sum(),
        lambda x: x[-6:].reshape(2, 3).T * 3,
        lambda x: np.flip(x)[:3] * 2,
        lambda x: (x.reshape(5, -1)[:, -2:] * 2).sum(axis=1),
        lambda x: np.broadcast_to(x, (2**31, x.shape[0]))[2**31 - 1, -3:] * 2,
        lambda x: x[None, :, None][0, -3:] * np.arange(4, dtype="u1"),
    ],
)
def test_elements_far_from_the_first(function, sparse):
    x = np.asarray(sparse)
    x = x if x.size % 5 == 0 else x[x.size % 5 :]
    np.testing.assert_array_equal(axiomjit.jit(function)(x), function(x), strict=True)


@pytest.mark.parametrize("step", [2**29, -(2**29)])
def test_far_strides_of_arguments(step, sparse):
    for x in (sparse[::step], as_strided(sparse, (3, 5), (2**30, 1)), sparse[-8:][::-1]):
        got, total = axiomjit.jit(lambda x: (x * 2, x.sum(axis=0)))(x)
        np.testing.assert_array_equal(got, x * 2)
        np.testing.assert_array_equal(total, x.sum(axis=0))


def test_views_of_far_elements_are_views(sparse):
    view = axiomjit.jit(lambda x: x[-3:])(sparse)
    assert np.shares_memory(view, sparse)
    assert view.ctypes.data - sparse.ctypes.data == FAR - 3


LAST = 3
"""Units of a grid that are run."""


def run_last_units(function, x, run, path):
    """The result of a program of one loop, of which only the end is run; it starts as zeros."""
    case = follow(function, x)
    plan = lowered(case).plan
    (launch,) = [step for step in plan.steps if isinstance(step, Launch)]
    (made,) = [buffer for buffer in plan.buffers if buffer.role == "result"]
    shape = tuple(evaluate(length, case.values) for length in made.shape)
    result = np.memmap(path, "u1", "w+", shape=shape)
    words = [np.asarray(result) if name == made.name else x for name in launch.buffers]
    words += [evaluate(length, case.values) for length in launch.lengths]
    grid = evaluate(launch.grid, case.values)
    run(launch.kernel, words, grid - LAST, grid)
    result.flush()
    return result


def run_machine_code(kernel, words, lo, hi):
    code = compile_source(kernel.source, kernel.parameters, kernel.target.record, kernel.traits)
    assert run_compiled(code, kernel.parameters, words, lo, hi) == 0


def run_in_python(kernel, words, lo, hi):
    run_plain(kernel.source, kernel.parameters, words, lo, hi)


@pytest.mark.parametrize("run", [run_machine_code, run_in_python])
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (lambda x: x + x, (FAR,)),
        (lambda x: x[1:] - x[:-1], (FAR,)),
        (lambda x: x[:, ::-1] + x, (FAR // 2, 2)),
        (lambda x: x[:, 1:, None] * x[:, None, :], (FAR // 7, 7)),
    ],
)
def test_loops_run_beyond_31_bits(function, shape, run, sparse, tmp_path):
    x = np.asarray(sparse[-math.prod(shape) :]).reshape(shape)
    result = run_last_units(function, x, run, tmp_path / "result")
    want = function(x[-LAST - 1 :])[-LAST:]
    assert want.any()
    np.testing.assert_array_equal(result[-LAST:], want)
    assert (tmp_path / "result").stat().st_blocks * 512 < 2**20  # nothing else is written


def test_sum_of_more_than_31_bits_of_elements():
    ones = np.broadcast_to(np.ones(1, "u1"), (FAR,))
    total, count = axiomjit.jit(lambda x: (x.sum(), np.count_nonzero(x[2:])))(ones)
    assert (total, count) == (FAR, FAR - 2)


def test_lengths_that_follow_integers_beyond_31_bits():
    f = axiomjit.jit(lambda x, n: np.broadcast_to(x[:, None], (5, n))[:, n - 2 :] * x[:2])
    x = np.arange(5.0)
    for n in (7, 2**31 + 7, 2**40, 2**62):
        np.testing.assert_array_equal(f(x, n), np.stack([x * 0.0, x], axis=1))


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda x, n: np.broadcast_to(x, (n, n, 5)) * 2, MemoryError, "has no address"),
        (lambda x, n: np.broadcast_to(x, (n, n, 5)), ValueError, "too big"),
        (
            lambda x, n: np.broadcast_to(x, (n * n, 5)).sum(axis=0),
            GraphValueError,
            r"at most 9223372036854775807\n  seen: ceil.* = 1180591620717411303424",
        ),
    ],
)
def test_sizes_beyond_63_bits(function, kind, message):
    with pytest.raises(kind, match=message):
        axiomjit.jit(function)(np.arange(5.0), 2**40)


# --- the memory order of results ------------------------------------------------------------

ORDERED = {
    "product": lambda x, y: x * y + x,
    "choice": lambda x, y: np.where(x > 0, y, x) - y,
    "row": lambda x, y: x + y[0],
    "sum": lambda x, y: x.sum(axis=1) + 1.0,
    "reversed": lambda x, y: x[::-1, :, ::2] * 2.0,
}


def any_layout(rng):
    """An array of shape (5, 6, 7) as a transposed, strided, reversed or repeated view."""
    base = np.arange(14.0**3).reshape(14, 14, 14).transpose(rng.permutation(3))
    steps = rng.choice([1, 1, 2, -1, -2], 3)
    cut = tuple(
        slice(0, n * s, s) if s > 0 else slice(-s * (n - 1), None, s)
        for n, s in zip((5, 6, 7), map(int, steps), strict=True)
    )
    view = base[cut]
    match rng.integers(6):
        case 0:
            return np.asfortranarray(view)
        case 1:
            return np.broadcast_to(view[:, :1], view.shape)
        case 2:
            return view.copy(order="K")
    return view


@pytest.mark.parametrize("name", ORDERED)
def test_memory_order_of_results_is_numpys(name):
    rng, function = np.random.default_rng(len(name)), ORDERED[name]
    for _ in range(60):
        arguments = [any_layout(rng), any_layout(rng)]
        case = follow(function, *arguments)
        (found,) = run_plain_case(case, lowered(case).plan)
        assert_same_arrays([found], [function(*arguments)])


def test_results_of_fortran_arrays_need_no_transposition():
    x = np.asfortranarray(BASE)
    stages = lowered(follow(lambda x: (x * 2.0 + x, x.sum(axis=2)), x))
    assert stages.plan.cost.temporary_bytes.constant == 0
    for step in stages.loops.steps:
        for access in (s for s in step.statements if isinstance(s, Load | Store)):
            assert any(stride.constant == 1 for _, stride in access.index.terms)
