"""Where the words of guard tables stand: all that the table writer and the entry agree on.

A table is a header, then a record for each object that is guarded, then the words that every call
of the kernel has in common, then a record for each array that a call makes, then which of those
are results. Everything counts 64-bit words.
"""

from __future__ import annotations

from typing import Final

HEADER: Final = (
    *("runtime", "settings", "positional", "keywords", "names", "records", "hits", "runner"),
    *("kernel", "grid", "combines", "releases", "template", "template_at"),
    *("allocations", "allocations_at", "results", "results_at", "form"),
)
"""`runner` is a Python function in place of a kernel; the words `_at` are places in the table."""

ARRAY, NUMBER, SCALAR, INTEGER, SAME = range(5)
"""Kinds of guards: an array by its layout, a float or complex number by its type (its value goes
to the kernel), a NumPy scalar by its type (the kernel reads it), an int by its value, an object."""
KIND, SIZE, SOURCE, OBJECT, FIRST = range(5)
"""Words of every guard; `SOURCE` is the number of an argument, or -1 for the object `OBJECT`."""
ARRAY_SLOT, ARRAY_DTYPE, ARRAY_RANK, ARRAY_FLAGS, ARRAY_ADDRESS, ARRAY_SHAPE = range(FIRST, 10)
"""Words of an array's guard; an address of 0 is any. Strides (bytes) follow the shape."""
NUMBER_TYPE, NUMBER_SLOT, NUMBER_WORDS = range(FIRST, 7)
SCALAR_TYPE, SCALAR_SLOT = range(FIRST, 6)
INTEGER_TYPE, INTEGER_VALUE = range(FIRST, 6)

NEW_SIZE, NEW_DTYPE, NEW_RANK, NEW_SLOT, NEW_KEPT, NEW_FILLED, NEW_FILL, NEW_BYTES = range(8)
NEW_STRIDED, NEW_SHAPE = range(8, 10)
"""Words of an array that a call makes; it is a result where it is kept. Strides follow."""

SCALARS, TUPLE = 1, 2
"""Bits of `form`: results without dimensions are NumPy scalars; results come in a tuple."""

MOST_WORDS: Final = 256
"""Words of an argument block at most; that of a native call is on the stack."""
MOST_ARRAYS: Final = 16
"""Arrays that a native call makes at most."""

RUNTIME: Final = (
    *("take", "drop", "vectorcall", "save_thread", "restore_thread", "new_array", "as_scalar"),
    *("new_tuple", "set_item", "context_value", "int_value", "set_error", "error_states"),
    *("settings", "kernels_run", "array_type", "status_error", "status_text"),
)
"""Functions of CPython and NumPy, objects and addresses of words, in a block of their own."""
