"""The native entry: one C-level function that guards the arguments of a call and runs its plan.

The conditions of calls are in guard tables; the function is the same for all. It reads the
structures of CPython and NumPy directly, so it is used only if known objects have the expected
layout; otherwise calls run in Python. May import `base`, `symbolic`, `runtime.object_cache`,
`runtime.memory`.
"""
