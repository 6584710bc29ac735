"""The compiler of kernel source to machine code in memory; a process compiles each key once.

- `lower_source`: kernel source to LLVM code, by the rules and names of
  - `kernel_types`, `emitters`: types and casts, emitters of LLVM code, also for complex numbers
  - `value_builtins`, `memory_builtins`, `tree_builtins`, `elementary_builtins`
  - `plain_builtins`: the same names in plain Python
- `llvm_functions`: functions that loops call or inline
- `compile_source`: LLVM code to object files
- `kernel_cache`: kernels in memory, and what checked ones report

May import `base`, `passes.ir`, `runtime.object_cache`, `runtime.memory`, `runtime.elementary`.
"""
