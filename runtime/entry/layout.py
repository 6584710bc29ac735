"""Where the words of guard tables stand: all that the table writer and the entry agree on.

A table is a header, then a record for each object that is guarded, then one for each step of the
plan, then the places of the results. Everything counts 64-bit words.
"""

from __future__ import annotations

from typing import Final

HEADER: Final = (
    *("runtime", "settings", "positional", "keywords", "names", "records", "hits", "runner"),
    *("owned", "places", "steps", "steps_at", "results", "results_at", "form", "otherwise"),
    *("errors", "memory", "values_from", "operands_from", "block_from"),
)
"""`runner` is a Python function in place of a plan; the words `_at` are numbers of words in the
table. `otherwise` is a function that answers where the plan raises one of `errors`. `memory` is how
many bytes the call takes from Python, 0 where `STACK_WORDS` are enough; the words `_from` are
numbers of words in that memory, which begins with the objects of all places."""

ARRAY, NUMBER, SCALAR, INTEGER, SAME, APART = range(6)
"""Kinds of guards: an array by its layout, a float or complex number by its type (kernels get its
value), a NumPy scalar by its type (kernels read it), an int by its value, an object; an array that
shares no memory with another one, both guarded before."""
KIND, SIZE, SOURCE, OBJECT, FIRST = range(5)
"""Words of every guard; `SOURCE` is the number of an argument, or -1 for the object `OBJECT`."""
ARRAY_PLACE, ARRAY_DTYPE, ARRAY_RANK, ARRAY_FLAGS, ARRAY_ADDRESS, ARRAY_SHAPE = range(FIRST, 10)
"""Words of an array's guard; an address of 0 is any. Strides (bytes) follow the shape."""
NUMBER_TYPE, NUMBER_PLACE, NUMBER_WORDS = range(FIRST, 7)
SCALAR_TYPE, SCALAR_PLACE = range(FIRST, 6)
INTEGER_TYPE, INTEGER_VALUE = range(FIRST, 6)
APART_SOURCE, APART_OBJECT = range(FIRST, 6)
APART_LOW, APART_END, APART_OTHER_LOW, APART_OTHER_END = range(6, 10)
"""Words of such a guard: the other array as a source and an object, and for both where their
elements begin and end, in bytes from the first one."""

MAKE, TAKE, VIEW, RUN, CALL, DROP, SHARE, GIVE = range(8)
"""Kinds of steps: an array in memory of its own, in that of another one, or as a view of one; a
kernel; a Python function that makes arrays; an array that is given up; an object at a second place;
a Python function that makes what the call gives."""
STEP_FIRST: Final = 2
"""Words of every step: its kind and its size."""
NEW_PLACE, NEW_DTYPE, NEW_RANK, NEW_STRIDED, NEW_BASE, NEW_OFFSET, NEW_FLAGS = range(STEP_FIRST, 9)
NEW_FILLED, NEW_FILL, NEW_BYTES, NEW_SHAPE = range(9, 13)
"""Words of an array; strides follow the shape. It is filled with eight bytes again and again."""
RUN_KERNEL, RUN_GRID, RUN_COMBINES, RUN_RELEASES, RUN_WORDS, RUN_FILLS, RUN_BLOCK = range(
    STEP_FIRST, 9
)
"""Words of a run of a kernel; behind its block stand pairs of a word and the place it is from."""
CALL_FUNCTION, CALL_OPERANDS, CALL_RESULTS, CALL_PLACES = range(STEP_FIRST, 6)
DROP_PLACE: Final = STEP_FIRST
SHARE_PLACE, SHARE_SOURCE = range(STEP_FIRST, 4)

SCALARS, TUPLE, NOTHING = 1, 2, 4
"""Bits of `form`: results without dimensions are NumPy scalars; results come in a tuple; the call
gives None."""

STACK_WORDS: Final = 256
"""Words of memory that a native call has on the stack: places, operands and an argument block."""
UNUSED_PLACES: Final = 2
"""Places behind the last one, for guarded values that no step uses; a complex number has two."""

RUNTIME: Final = (
    *("take", "drop", "vectorcall", "save_thread", "restore_thread", "new_array", "as_scalar"),
    *("new_tuple", "set_item", "context_value", "int_value", "set_error", "error_states"),
    *("settings", "kernels_run", "array_type", "status_error", "status_text"),
    *("set_base", "is_error", "clear_error", "nothing", "check_signals", "take_memory"),
    "drop_memory",
)
"""Functions of CPython and NumPy, objects and addresses of words, in a block of their own."""
