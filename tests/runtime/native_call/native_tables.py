"""Tables of the native entry for plans that tests write, of one array argument at slot 0."""

import ctypes
from array import array

import numpy as np

from axiomjit.runtime.native_call.guard_tables import Guards
from axiomjit.runtime.native_call.instructions import NativePlan, NewArray, Run

KERNEL = ctypes.CFUNCTYPE(
    ctypes.c_int32, *[ctypes.c_void_p] * 2, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64
)
F8 = np.dtype("f8")


def calling(kernel, shape=(3,), kept=(True,), strides=None, combines=False, releases=False):
    """A plan of one array argument that makes arrays; the kernel is a Python function."""
    made, count = KERNEL(kernel), len(kept)
    run = Run(
        kernel=ctypes.cast(made, ctypes.c_void_p).value,
        block=(0,) * (1 + count) + (77,),
        fills=tuple((k, k) for k in range(1 + count)),
        grid=5,
        combines=combines,
        releases=releases,
    )
    new = [NewArray(F8, shape, strides, 1 + k) for k in range(count)]
    return plan_of(*new, run, results=[1 + k for k, keep in enumerate(kept) if keep], owner=made)


def plan_of(*steps, results, slots=8, owner=None):
    """A plan of one array argument."""
    return NativePlan(
        given={0: (0, None)},
        held=(),
        owned=1,
        slots=slots,
        steps=steps,
        results=tuple(results),
        form=0,
        lent=frozenset(),
        kernels=((None, owner),),
    )


def table_of(plan, example, form=0, hits=None, otherwise=None):
    guards, hits = Guards(plan.replace(form=form)), array("q", [0]) if hits is None else hits
    assert guards.add(0, example, 0)
    return guards.table(1, (), hits, None, otherwise)
