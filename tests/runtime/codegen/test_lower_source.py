"""The kernel language: what each statement means compiled and plain, and what is refused."""

import subprocess
import sys

import numpy as np
import pytest
from llvmlite import ir
from numba.core.typing import signature as signature_of

from axiomjit.base.errors import CompileError
from axiomjit.base.target import target
from axiomjit.runtime.codegen import compile_source as compile_module
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.kernel_types import Intrinsic
from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache.entries import make_entry
from tests.runtime.codegen.kernels import LENGTH, buffers, compiled, run_compiled, same_bits

HEAD = "def kernel(w, lo, hi):\n    a = buffer(w, 0)\n    o = buffer(w, 1)\n    n = length(w, 2)\n"
BODIES = {
    "carried through two loops": """
    s = f8(0.0)
    for i in range(lo, hi):
        for j in range(3):
            s = s + load(a, i)
        store(o, i, s)
""",
    "carried around a loop of no step": """
    s = f8(2.0)
    for i in range(hi, lo):
        s = load(a, i)
    store(o, 0, s)
""",
    "assigned in one branch": """
    for i in range(lo, hi):
        v = load(a, i)
        if i & 1 == 0:
            v = -v
        store(o, i, v)
""",
    "assigned in both branches": """
    for i in range(lo, hi):
        v = load(a, i)
        k = 0
        if v > f8(0.0):
            v = v * v
            k = i
        else:
            for j in range(i):
                v = v + f8(j)
        store(o, i, v + f8(k))
""",
    "two names change places": """
    x = f8(1.0)
    y = f8(2.0)
    for i in range(lo, hi):
        z = x
        x = y
        y = z + load(a, i)
        store(o, i, x)
""",
    "a name of a block means something else in the next one": """
    for i in range(lo, hi):
        v = load(a, i)
        store(o, i, v)
    for i in range(lo, hi):
        v = i + 1
        store(o, i, load(o, i) + f8(v))
""",
    "blocks of rows": """
    for i in range(0, 3):
        s = f8(0.0)
        for j in range(i * 7, min(i * 7 + 7, n)):
            s = s + load(a, j)
        store(o, i, s)
""",
    "several steps at once": """
    for i in range(lo, hi, 3):
        for j in range(i, min(i + 3, hi)):
            store(o, j, load(a, i))
    for i in range(0, lo, 2):
        store(o, i, f8(5.0))
""",
    "smallest and largest of three": """
    for i in range(lo, hi):
        store(o, i, load(a, max(0, min(i + 2, n - 1, 9))))
""",
    "shadowed by an inner loop": """
    for i in range(lo, hi):
        for j in range(2):
            for k in range(j, 3):
                store(o, i, load(o, i) + f8(k - j))
        for k in range(1):
            pass
""",
}


@pytest.mark.parametrize("checked", [False, True])
@pytest.mark.parametrize("name", BODIES)
def test_compiled_and_plain_agree(name, checked):
    parameters = (*buffers("f8", "f8"), LENGTH)
    source = HEAD + BODIES[name].removeprefix("\n")
    x = np.random.default_rng(1).standard_normal(20)
    machine, plain = np.zeros((2, 20))
    run_plain(source, parameters, [x, plain, 20], 0, 20)
    kernel = compiled(source, parameters, checked=checked)
    if checked:
        assert kernel.checked
        return
    assert run_compiled(kernel, parameters, [x, machine, 20], 0, 20) == 0
    assert same_bits(machine, plain)
    assert plain.any()


@pytest.mark.parametrize("code", ["c8", "c16"])
def test_complex_numbers_are_carried_and_packed(code):
    source = HEAD + (
        f"    s = {'complex64' if code == 'c8' else 'complex128'}(0.0)\n"
        "    for i in range(lo, hi):\n        s = add_reassoc(s, load(a, i))\n    store(o, 0, s)\n"
    )
    parameters = (*buffers(code, code), LENGTH)
    x = (np.arange(100) + 1j * np.arange(100)[::-1]).astype(code)
    out = np.zeros(1, code)
    kernel = compiled(source, parameters)
    run_compiled(kernel, parameters, [x, out, 100], 0, 100)
    assert out[0] == x.sum()
    assert kernel.packed_instructions() > 0


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("    while lo < hi:\n        pass\n", "is no statement of kernels"),
        ("    for i in a:\n        pass\n", "is no range of one or two numbers"),
        ("    for i in range(0, 9, n):\n        pass\n", "is no range of one or two numbers"),
        ("    for i in range(9, 0, -2):\n        pass\n", "is no range of one or two numbers"),
        ("    for i in range(1.5):\n        pass\n", "is float64, not a whole number of 64 bits"),
        ("    if lo:\n        pass\n", "is int64, not a truth"),
        ("    v = lo if hi else n\n", "is no expression of kernels"),
        ("    v = lo < hi < n\n", "is no expression of kernels"),
        ("    v = lo // hi\n", "lo // hi has operands int64, int64"),
        ("    v = lo + 1.0\n", r"lo \+ 1.0 has operands int64, float64"),
        ("    v = 'text'\n", "is no number of kernels"),
        ("    v = u\n", "u is neither a number nor assigned before"),
        ("    for i in range(2):\n        v = i\n    store(o, v, 1.0)\n", "v is neither a number"),
        ("    v = 1\n    v = 1.0\n", "v is int64 and becomes float64"),
        ("    for i in range(2):\n        lo = f8(i)\n", "lo is int64 and becomes float64"),
        ("    v = len(a)\n", "calls len, which kernels do not have"),
        ("    store(o, 0, 1)\n", "calls store with Bufferf8N1of2, int64, int64"),
        ("    v = sqrt(lo)\n", "calls sqrt with int64"),
    ],
)
def test_what_is_no_kernel_is_refused(body, seen):
    with pytest.raises(CompileError, match=seen):
        compile_source(HEAD + body, (*buffers("f8", "f8"), LENGTH), target())


def test_a_rule_that_does_not_fit_a_dtype_is_named(monkeypatch):
    """As that of a function of the user's own type, which emits what LLVM refuses."""
    names = compile_module._namespace

    def define(operand):
        def emit(context, builder, signature, args):
            return builder.fadd(args[0], builder.fpext(args[0], ir.DoubleType()))

        return signature_of(operand, operand), emit

    odd = Intrinsic(define)
    monkeypatch.setattr(compile_module, "_namespace", lambda *a: {**names(*a), "odd": odd})
    source = HEAD + "    store(o, 0, odd(load(a, 0)))\n"
    seen = r"odd\(load\(a, 0\)\) calls odd with float32: ValueError: Operands must be the same type"
    with pytest.raises(CompileError, match=seen):
        compile_source(source, (*buffers("f4", "f4"), LENGTH), target())


def test_the_same_source_has_the_same_name_and_code_of_its_own():
    source = HEAD + "    store(o, 0, load(a, 0))\n"
    first, second = (compiled(source, (*buffers("f8", "f8"), LENGTH)) for _ in range(2))
    assert first.symbol == second.symbol
    codes = [entries.load(make_entry("", one.symbol, one.objects, 0.0)) for one in (first, second)]
    assert codes[0].address != codes[1].address


def test_loops_of_branches_stay_as_written():
    loop = "    for i in range(n):\n        s = maximum(s, load(a, i))\n    store(o, 0, s)\n"
    parameters = (*buffers("f8", "f8"), LENGTH)
    fast = HEAD + "    s = load(a, 0)\n" + loop
    inside = "".join(f"    {line}\n" for line in loop.splitlines())
    rare = HEAD + "    s = load(a, 0)\n    if lo == hi:\n" + inside
    assert "vector.body" in compiled(fast, parameters).llvm
    assert "vector.body" not in compiled(rare, parameters).llvm


USERS = """
import numba
from numba import njit
import numpy as np

@njit
def arrays(x):
    return np.sqrt((np.sort(x) ** 2).sum()) + np.random.random() * 0.0 + len({1, 2, 2})

@numba.vectorize
def half(x):
    return x / 2

def theirs():
    assert arrays(np.array([3.0, 4.0])) == 7.0
    assert half(np.array([4, 6])).tolist() == [2.0, 3.0]
"""
TEXTS = """
from numba import types
from numba.typed import Dict, List

@njit
def words(text):
    found = List()
    counts = Dict.empty(types.unicode_type, types.int64)
    found.append(text + "b")
    counts[text] = counts.get(text, 1) + 1
    return found, counts

found, counts = words("a")
assert list(found) == ["ab"] and counts["a"] == 2
"""
OURS = """
import axiomjit
def ours(factor):
    f = axiomjit.jit(lambda x: (np.exp(x) * factor).sum())
    assert abs(f(np.zeros(3000)) - 3000 * factor) < 1e-9
"""
IN_TURNS = "ours(2.0)\ntheirs()\nours(3.0)\ntheirs()\n"
ORDERS = {
    "ours first": OURS
    + "import numpy as np\nours(1.0)\n"
    + USERS
    + IN_TURNS
    + TEXTS
    + "ours(4.0)\n",
    "theirs first": USERS + "theirs()\n" + OURS + IN_TURNS,
}


@pytest.mark.parametrize("order", ORDERS)
def test_a_users_numba_works_beside_ours(order):
    done = subprocess.run(
        [sys.executable, "-c", ORDERS[order]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_no_registry_of_numba_is_filled():
    code = OURS.replace("import axiomjit", "import sys, axiomjit, numpy as np") + "ours(2.0)\n"
    code += "print(sorted(set(sys.modules) & {'numba.cpython.unicode', 'numba.typed.typeddict'}))\n"
    code += "from numba.core.registry import cpu_target\n"
    code += "print(len(cpu_target.typing_context._functions))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "0"]
