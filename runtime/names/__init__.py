"""The names of a kernel source: memory, tiles, trees; and their twins in plain Python.

May import `base`, `passes.ir`, `runtime.memory`, `runtime.llvm`, `runtime.emission`,
`runtime.elementary`.
"""
