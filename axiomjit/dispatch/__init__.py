"""From front ends to running programs: `jit`, signatures, program tables, calls with named arrays.

A call looks up, in this order: the native table of its function, the plan for the exact layout of
its arguments (`exact_layout`, a `CompiledCall`), its signature, and the programs of that signature
(`ProgramTable`). A missing entry is made; a program becomes a plan for lengths. Calls with arrays,
calls with named arrays and calls of graphs all follow this order. Keys are made in `arguments.py`;
the keys of named arrays need the axis language and are made in `named_calls.py`.

The following lists hold all state of the process that is outside graphs and functions, with the
reason for each. A test in `tests/structure` compares the lists with the code.

Tables of identity: equal values are one object, freed with its last user.

- `axiomjit/symbolic/dims.py` `_interned`: equal lengths are compared by identity
- `axiomjit/graph/nodes.py` `_interned`: equal nodes are one node, computed once
- `axiomjit/axis/axis.py` `_merged`: flattening the same axes twice gives the same axis
- `axiomjit/interop/named_dimensions.py` `_axes`: dimensions of one name and length pair
- `axiomjit/axis/axis.py` `_duals`: `axis + 1` is the same axis each time
- `axiomjit/numpy/facts.py` `_interned`: edges of paths compare facts by identity

The following facts about a node, a storage or a graph are not part of the computation, or contain
data. Hence such facts are stored outside the node, storage or graph, and freed with it.

- `axiomjit/graph/nodes.py` `_origins`: the user's line of a node; one node may come from two lines
- `axiomjit/axis/axes.py` `_required`: checks on unknown lengths of a node, made later
- `axiomjit/axis/declarations.py` `_declared`: axes, layout and initial values of a storage token
- `axiomjit/axis/transformers.py` `_arrays`: the values of variables, separate per transformer
- `axiomjit/dispatch/programs.py` `_plans`: compiled calls of a graph, which hold its constants

The following tables are shared by equal programs and kernels; each has a limit or stays small.

- `axiomjit/dispatch/programs.py` `_programs`: programs of graphs; graphs of one form share one
- `axiomjit/dispatch/derivatives.py` `_of_callables`: derivatives of methods and ufuncs, 64 at most
- `axiomjit/numpy/programs.py` `_programs`: programs of segments by their text, 2,000 at most
- `axiomjit/scale/tasks.py` `_programs`: unpickled programs of tasks by their digest, 512 at most
- `axiomjit/numpy/temporaries.py` `_known`: by code of users, the instructions behind operands
- `axiomjit/numpy_rules/statistics.py` `_REGISTRIES`: by file, the warnings that were shown
- `runtime/codegen/kernel_cache.py` `KERNELS`: machine code by the text of its kernel
- `runtime/codegen/kernel_cache.py` `_alive`: the same, for all kernels that a plan may run
- `axiomjit/functions/source_text.py` `_told`: the text of functions that came without their file
- `axiomjit/functions/source_text.py` `_trees`: the trees of functions that were made from trees
- `axiomjit/functions/source_text.py` `_files`: trees of the files of others, 64 at most
- `axiomjit/functions/instrument.py` `_templates`: instrumented code of functions, 4,000 at most
- `runtime/codegen/llvm_functions.py` `_LIBRARIES`: compiled functions that kernels link
- `runtime/codegen/llvm_functions.py` `_LINKED`: functions inlined into loops, written once

The following state is valid for a part of the program's run, in one thread or context.

- `axiomjit/symbolic/dims.py` `_scope`: the known lengths; Python's `if n > m` has no other access
- `axiomjit/base/trace_context.py` `_following`: the current trace, for its tracers
- `axiomjit/dispatch/derivatives.py` `_last_error`: the error of a thread's last derivative
- `axiomjit/graph/captured.py` `_captured`: arrays captured by the traced function
- `axiomjit/graph/storages.py` `_layouts`: strides of its arguments, for views like `reshape`
- `axiomjit/base/counters.py` `_clock`: the clock of the function that a thread compiles for
- `axiomjit/numpy/segments.py` `CURRENT`: the segment that a thread records operations in
- `axiomjit/numpy/quick.py` `_NO_OPTIONS`: the options of calls without any; nothing writes them
- `axiomjit/base/config.py` `_waits`: true while a thread waits for kernels (`f.warm`)
- `runtime/native_call/native_entry.py` `_code`: the machine code of native entries, loaded once
- `runtime/native_call/native_entry.py` `_refusal`: the reason if this process has none, found once
- `runtime/execution/workers.py` `_LIMIT`: the number of threads that a thread asked for
- `axiomjit/base/locks.py` `_fork`: the locks acquired by a fork, per forking thread
- `axiomjit/base/locks.py` `_locks`: every lock, so that a forked child can free it

The following functions are installed, so that an earlier layer can call a later layer.

- `axiomjit/functions/transforms.py` `FORMS`: the traced forms of `vjp` and its like, in `dispatch`
- `axiomjit/gradients/libraries.py` `_GIVEN`: derivatives that users gave to library functions
- `axiomjit/graph/execution.py` `install`: front ends run graphs and do not import passes;
  `dispatch` lends arrays to functions by the drop-in, which is built on `dispatch`; front ends
  ask `interop` for functions of DataArrays
- `axiomjit/base/tree.py` `INSTALLED`: the functions installed there
- `axiomjit/base/tree.py` `LIBRARIES`: how `interop` splits a library's labelled arrays, and
  makes arrays of its columns and tensors, and answers calls with its arrays in blocks
- `axiomjit/functions/libraries.py` `replaced_in`: what `interop` does in place of a library

Besides `debug` and `cli`, `dispatch` is the only package that imports front ends, passes and the
runtime together. May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `axis`, `tracing`,
`functions`, `gradients`, `passes.ir`, `passes.graph`, `passes.views`, `passes`, `runtime.memory`,
`runtime.codegen`, `runtime.native_call`, `runtime.execution`, `debug`.
"""
