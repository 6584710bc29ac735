"""The L2 example, in both spellings: one kernel, packed, no temporaries, twice as fast as NumPy."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

import axiomjit
from axiomjit.runtime.codegen.kernel_cache import KERNELS
from tools.elementary.turns import interleaved

N = 10**7


def l2_dot(x, y):
    t = x - y
    return np.dot(t.T, t)


def l2_sum(x, y):
    return ((x - y) ** 2).sum()


BOTH = pytest.mark.parametrize("function", [l2_dot, l2_sum])
FLOATS = pytest.mark.parametrize("dtype", ["f8", "f4"])


@pytest.fixture(scope="module", name="data")
def make_data():
    rng = np.random.default_rng(7)
    return rng.normal(size=N), rng.normal(size=N)


@BOTH
@FLOATS
def test_one_kernel_without_temporaries(function, dtype):
    x, y = np.zeros((2, 1000), dtype)
    lowered = axiomjit.jit(function).lower(x, y)
    cost = lowered.cost
    assert (cost.kernels, cost.library_calls, cost.temporary_bytes) == (1, 0, 0)
    assert len(lowered.kernels) == 1
    assert cost.bytes_read == 2 * x.nbytes
    assert cost.bytes_written <= 8 * (1 + 1000 // 1024)


@BOTH
def test_cost_grows_with_what_is_read_only(function):
    x = np.broadcast_to(np.zeros(1), (N,))
    cost = axiomjit.jit(function).lower(x[:], x[::-1]).cost
    assert cost.temporary_bytes == 0
    assert cost.scratch_bytes <= 8 * N // 65_536 + 8


@BOTH
@FLOATS
@pytest.mark.usefixtures("unchecked")
def test_inner_loop_is_packed(function, dtype):
    x, y = np.zeros((2, 1000), dtype)
    lowered = axiomjit.jit(function).lower(x, y)
    (kernel,) = lowered.kernels
    assert KERNELS.compiled(kernel).packed_instructions() >= 6
    # Four floats beside four doubles fill half a vector.
    difference = r"vsubpd\s.*%[yz]mm" if dtype == "f8" else r"vsubps\s.*%[xyz]mm"
    for packed in (difference, r"v(mul|fmadd|add)\w*pd\s.*%[yz]mm"):
        assert re.search(rf"^\s+{packed}", lowered.asm, re.MULTILINE), packed


@BOTH
def test_result_is_close_to_the_exact_sum(function, data):
    x, y = data
    exact = math.fsum(((x - y) ** 2).tolist())
    result = axiomjit.jit(function)(x, y)
    assert type(result) is np.float64
    assert abs(result - exact) <= 1e-13 * exact


@BOTH
def test_single_precision_is_rounded_once(function, data):
    x, y = (a[: 10**6].astype("f4") for a in data)
    result = axiomjit.jit(function)(x, y)
    exact = math.fsum(((x - y).astype("f8") ** 2).tolist())
    assert type(result) is np.float32
    assert abs(float(result) - exact) <= 2e-7 * exact


@BOTH
@pytest.mark.usefixtures("unchecked")
@pytest.mark.alone
def test_takes_at_most_half_of_numpys_time(function, data):
    compiled = axiomjit.jit(function)
    times = interleaved(lambda: function(*data), lambda: compiled(*data), 31)
    assert times.ratio >= 2


MEMORY = """
import re, sys, tracemalloc
import numpy as np
import axiomjit

def peak():
    return 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])

def l2_dot(x, y):
    t = x - y
    return np.dot(t.T, t)

def l2_sum(x, y):
    return ((x - y) ** 2).sum()

f = axiomjit.jit({name})
x, y = np.ones(10**6), np.zeros(10**6)
f(x, y), f(x, y)  # compiled, threads started, guards imported
x, y = np.ones(10**7), np.zeros(10**7)
before = peak()
assert f(x, y) == 1e7
grown = peak() - before
tracemalloc.start()
assert f(x, y) == 1e7
print(grown, tracemalloc.get_traced_memory()[1])
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@BOTH
@pytest.mark.usefixtures("unchecked")
def test_peak_of_extra_memory(function):
    script = MEMORY.format(name=function.__name__)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    for extra_bytes in map(int, done.stdout.split()):
        assert extra_bytes < 2**20
