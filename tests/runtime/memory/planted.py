"""Plans of one planted kernel, which may do what no generated one does."""

import numpy as np

from axiomjit.base.target import chosen_target
from axiomjit.passes.ir.plan_ir import Allocate, Buffer, Kernel, Launch, Parameter, Plan, Window
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.dims import dim

COPY = """
def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    o0 = buffer(w, 1)
    for i0 in range(lo, hi):
        store(o0, {to}, load(a0, {source}))
"""


def planted(source, length, dtype="f8", grid=None):
    """The plan of a kernel that reads the vector a0 and writes the vector o0."""
    code, shape, ones = np.dtype(dtype), (dim(length),), (dim(1),)
    parameters = tuple(Parameter(name, "buffer", dtype) for name in ("a0", "o0"))
    kernel = Kernel(source, parameters, f"planted: {dtype} {source}", False, chosen_target())
    units = dim(length if grid is None else grid)
    return Plan(
        (
            Buffer("a", ArrayRole.ARGUMENT, code, shape, ones, 0),
            Buffer("o", ArrayRole.RESULT, code, shape, ones),
        ),
        (Allocate("o"), Launch(kernel, ("a", "o"), (), (), units, units)),
        (Window("o", dim(0), shape, ones, code),),
    )


def copying(length, to="i0", source="i0", **options):
    """The plan that copies a vector, perhaps to and from the wrong elements."""
    return planted(COPY.format(to=to, source=source), length, **options)
