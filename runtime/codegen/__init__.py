"""Kernel source to machine code in memory: one compilation per key and process.

- `lower_source`: kernel source to LLVM code, by the rules and names of
  - `kernel_types`, `emitters`, `complex_rules`: types, emitters of LLVM code, complex numbers
  - `value_builtins`, `cast_builtins`, `memory_builtins`, `tree_builtins`, `elementary_builtins`
  - `plain_builtins`: the same names in plain Python; `report`: accesses outside a buffer
- `llvm_functions`, `vector_steps`, `llvm_arithmetic`: functions that loops call or inline
- `compile_source`: LLVM code to object files, with Numba's code generation in `target_code`
- `kernel_cache`, `kernel_handle`: kernels in memory

May import `base`, `passes.ir`, `runtime.object_cache`, `runtime.memory`, `runtime.elementary`.
"""
