"""From doors to running programs: `jit`, arguments, program tables, calls with named arrays.

A call meets, in this order: the native table of its function, the plan for the exact layout of its
arguments (`exact_layout`, a `CompiledCall`), its signature, and the programs of that signature
(`ProgramTable`). What is not there is made, and a program is bound to a plan. So it is for arrays,
named arrays and graphs. Keys are made in `arguments.py`; those of named arrays, which need the axis
language, in `named_calls.py`.

What the process keeps beside the graph and what was prepared for one function, each with its
reason; a test of the structure compares this list with the code.

Tables of identity: equal things are one object, gone with the last one who uses it.

- `axiomjit/symbolic/dims.py` `_interned`: equal lengths are compared by identity
- `axiomjit/graph/nodes.py` `_interned`: equal nodes are one node, computed once
- `axiomjit/axis/axis.py` `_merged`: flattening the same axes twice gives the same axis
- `axiomjit/axis/axis.py` `_duals`: `axis + 1` is the same axis each time

What is known of a node, a storage or a graph but must not be in it, since it is no part of what
is computed, or holds data; gone with that.

- `axiomjit/graph/nodes.py` `_origins`: the user's line of a node; nodes of two lines may be one
- `axiomjit/axis/late_checks.py` `_required`: what unknown lengths of a node must fulfil later
- `axiomjit/axis/declarations.py` `_declared`: axes, layout and first values of a storage's token
- `axiomjit/axis/transformers.py` `_arrays`: the values of variables, others in each transformer
- `axiomjit/dispatch/programs.py` `_plans`: ready plans of a graph, which hold its constants

What equal programs and kernels share, with a limit or small.

- `axiomjit/dispatch/programs.py` `_programs`: programs of graphs; graphs of one form share one
- `runtime/codegen/kernel_cache.py` `KERNELS`: machine code by the text of its kernel
- `runtime/codegen/kernel_cache.py` `_alive`: the same, of all kernels that somebody runs
- `axiomjit/tracing/source_text.py` `_trees`: the syntax tree of a function's code, 4,000 at most
- `axiomjit/tracing/source_text.py` `_files`: files that were compiled to find one, 64 at most
- `runtime/codegen/llvm_functions.py` `_LIBRARIES`: compiled functions that kernels link
- `runtime/codegen/llvm_functions.py` `_LINKED`: functions that loops inline, written once

What holds for a piece of the program's run, in one thread or context.

- `axiomjit/symbolic/dims.py` `_scope`: the lengths at hand; Python's `if n > m` has no other access
- `axiomjit/base/trace_context.py` `_following`: the function that is followed, for its tracers
- `axiomjit/graph/captured.py` `_captured`: arrays that the followed function has from elsewhere
- `axiomjit/graph/known_strides.py` `_layouts`: strides of its arguments, for views like `reshape`
- `axiomjit/base/counters.py` `_clock`: the function for which a thread compiles, to count time
- `axiomjit/base/config.py` `_waits`: whether a thread waits for kernels (`f.warm`)
- `runtime/native_call/native_entry.py` `_code`: the machine code of native entries, loaded once
- `runtime/native_call/native_entry.py` `_refused`: why there is none in this process, found once
- `runtime/execution/workers.py` `_LIMIT`: the number of threads that a thread asked for
- `axiomjit/base/locks.py` `_fork`: the locks that a fork has taken, by the thread that forks
- `axiomjit/base/locks.py` `_locks`: every lock, so that a forked child can free it

Installs, where a layer calls what stands in a later one.

- `axiomjit/graph/execution.py` `install`: doors run graphs and do not import passes
- `axiomjit/graph/execution.py` `_installed`: the functions installed there

With `debug` and `cli` the only packages that see doors, passes and runtime together. May import
`base`, `symbolic`, `views`, `graph`, `numpy_table`, `axis`, `tracing`, `tracing.effects`,
`passes.ir`, `passes.graph`, `passes.views`, `passes`, `runtime.codegen`, `runtime.native_call`,
`runtime.execution`, `debug`.
"""
