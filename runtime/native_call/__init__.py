"""The native entry: one C-level function that guards the arguments of a call and runs its plan.

What calls depend on is written into guard tables; the function is the same for all. It reads the
structures of CPython and NumPy where they lie, so it is used only where a look at known objects
finds them as expected; elsewhere calls run in Python. May import `base`, `symbolic`,
`runtime.object_cache`, `runtime.memory`.
"""
