"""From doors to running programs: `jit`, arguments, program tables, calls with named arrays.

With `show` and `cli` the only packages that see doors, passes and runtime together. May import
`base`, `algebra`, `views`, `graph`, `numpy_table`, `axis`, `tracing`, `passes.ir`, `passes`,
`runtime.compiling`, `runtime.launching`, `show`.
"""
