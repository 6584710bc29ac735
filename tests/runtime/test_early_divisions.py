"""Divisions that vector loops start one step before their results are needed."""

import re
import subprocess
import sys

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.target import target
from axiomjit.runtime.llvm.early_divisions import USERS, start_early
from tests.runtime.kernels import LENGTH, buffers, compiled, run_compiled
from tests.structure.sources import ROOT

LOOP = """define void @kernel(i64 %.1, i64 %.2, i64 %n) {{
entry:
  %tile = alloca [512 x float], align 64
  %a = inttoptr i64 %.1 to ptr
  %b = inttoptr i64 %.2 to ptr
  br label %vector.body

vector.body:                                      ; preds = %entry, %vector.body
  %index = phi i64 [ 0, %entry ], [ %index.next, %vector.body ]
  %0 = getelementptr float, ptr %a, i64 %index
  %1 = load <16 x float>, ptr %0, align 4, !alias.scope !1, !noalias !2
  %2 = fdiv <16 x float> splat (float 1.000000e+00), %1
{work}
  %3 = getelementptr float, ptr {to}, i64 %index
  store <16 x float> %w{last}, ptr %3, align 4{scope}
  %index.next = add nuw i64 %index, 16
  %4 = icmp eq i64 %index.next, %n
  br i1 %4, label %done, label %vector.body

done:                                             ; preds = %vector.body
  ret void
}}
"""
EARLY = """define void @kernel(i64 %.1, i64 %.2, i64 %n) {
entry:
  %tile = alloca [512 x float], align 64
  %a = inttoptr i64 %.1 to ptr
  %b = inttoptr i64 %.2 to ptr
  %number.0.first = getelementptr float, ptr %a, i64 0
  %number.1.first = load <16 x float>, ptr %number.0.first, align 4, !alias.scope !1, !noalias !2
  %number.2.first = fdiv <16 x float> splat (float 1.000000e+00), %number.1.first
  br label %vector.body

vector.body:                                      ; preds = %entry, %vector.body
  %index = phi i64 [ 0, %entry ], [ %index.next, %vector.body ]
  %number.2 = phi <16 x float> [ %number.2.first, %entry ], [ %number.2.next, %vector.body ]
  %index.next = add nuw i64 %index, 16
  %number.4 = icmp eq i64 %index.next, %n
  %index.ahead = select i1 %number.4, i64 %index, i64 %index.next
  %number.0.next = getelementptr float, ptr %a, i64 %index.ahead
  %number.1.next = load <16 x float>, ptr %number.0.next, align 4, !alias.scope !1, !noalias !2
  %number.2.next = fdiv <16 x float> splat (float 1.000000e+00), %number.1.next
  %number.0 = getelementptr float, ptr %a, i64 %index
  %number.1 = load <16 x float>, ptr %number.0, align 4, !alias.scope !1, !noalias !2
"""


def loop(users=USERS, to="%tile", scope=""):
    """A loop whose division so many operations need."""
    values = ["%2", *(f"%w{k}" for k in range(users))]
    work = [f"  {values[k + 1]} = fadd <16 x float> {values[k]}, %2" for k in range(users)]
    return LOOP.format(work="\n".join(work), to=to, last=users - 1, scope=scope)


def test_what_is_made_of_a_loop():
    made = start_early(loop())
    assert made is not None
    assert made.startswith(EARLY)
    rest = made.removeprefix(EARLY).splitlines()
    assert rest[0] == "  %w0 = fadd <16 x float> %number.2, %number.2"
    assert rest[USERS + 2] == "  br i1 %number.4, label %done, label %vector.body"


@pytest.mark.parametrize(
    "text",
    [
        loop(users=USERS - 1),
        loop(to="%a"),
        loop(to="%b"),
        loop(to="%tile").replace("fadd", "call void @f()\n  %other = fadd", 1),
        loop(to="%b", scope=", !alias.scope !1, !noalias !2"),
        loop().replace("br label %vector.body\n", "br i1 %x, label %vector.body, label %done\n"),
        loop().replace("%index.next, %n", "%w0, %n"),
    ],
    ids=["few users", "same", "perhaps same", "a call", "same buffer", "not entered", "its end"],
)
def test_what_stays_as_it_is(text):
    assert start_early(text) is None


def test_other_buffers_are_other_memory():
    assert start_early(loop(to="%b", scope=", !alias.scope !2, !noalias !1"))


DIVIDES = re.compile(r"\.next = fdiv <")
FLAT = """def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    a1 = buffer(w, 1)
    o0 = buffer(w, 2)
    for i0 in range(lo, hi):
        store(o0, i0, {function}(load(a0, i0) / load(a1, i0)))
"""
ROWS = """def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    a1 = buffer(w, 1)
    o0 = buffer(w, 2)
    n0 = length(w, 3)
    for i0 in range(lo, hi):
        for i1 in range(n0):
            k = i0 * n0 + i1
            store(o0, k, {function}(load(a0, k) / load(a1, k)))
"""


@pytest.mark.skipif(target().vector_bytes < 64, reason="only with the registers of AVX-512")
@pytest.mark.parametrize(("function", "code"), [("log", "f4"), ("exp", "f8")])
def test_only_long_loops_divide_early_and_results_are_the_same(function, code):
    parameters = (*buffers(code, code, code), LENGTH)
    flat, rows = (compiled(t.format(function=function), parameters) for t in (FLAT, ROWS))
    assert len(DIVIDES.findall(flat.llvm)) == 1
    assert not DIVIDES.search(rows.llvm)
    x, y = np.random.default_rng(4).uniform(0.5, 2, (2, 1000)).astype(code)
    for n in (1, 7, 8, 15, 16, 17, 32, 33, 100, 1000):
        results = [np.zeros_like(x), np.zeros_like(x)]
        assert run_compiled(flat, parameters, [x, y, results[0], n], 0, n) == 0
        assert run_compiled(rows, parameters, [x, y, results[1], n], 0, 1) == 0
        np.testing.assert_array_equal(*results)
        assert not results[0][n:].any()
        assert results[0][:n].all()


@pytest.mark.skipif(target().vector_bytes < 64, reason="only with the registers of AVX-512")
@pytest.mark.parametrize("rows", [False, True])
def test_sums_divide_early_too_but_not_those_of_rows(rows, monkeypatch):
    monkeypatch.setattr(config, "bounds", False)  # kernels that check are no vector code
    x, y = np.random.default_rng(5).uniform(0.5, 2, (2, 50, 100))
    axis = 1 if rows else None
    total = axiomjit.jit(lambda x, y: np.sum(np.log(x / y), axis=axis))
    assert bool(DIVIDES.search(total.lower(x, y).llvm)) is not rows
    want = np.sum(np.log(x / y), axis=axis)
    np.testing.assert_allclose(total(x, y), want, rtol=1e-12, atol=1e-12)


def test_results_in_the_place_of_operands_are_right():
    source = FLAT.format(function="exp").replace("store(o0", "store(a0")
    parameters = buffers("f8", "f8", "f8")
    x, y = np.random.default_rng(5).uniform(0.5, 2, (2, 1001))
    want = np.exp(x / y)
    kernel = compiled(source, parameters)
    assert not DIVIDES.search(kernel.llvm)
    assert run_compiled(kernel, parameters, [x, y, y], 0, 1001) == 0
    np.testing.assert_allclose(x, want, rtol=1e-15)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mprotect of Linux")
def test_the_last_step_reads_nothing_behind_its_operands():
    command = [sys.executable, "-m", "tests.guard_runs", "quotients"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    assert done.stdout.count("quotients of") == 16
