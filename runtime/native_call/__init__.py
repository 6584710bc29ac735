"""Native calls: one native function checks the guards of a call and runs its plan.

The conditions of a call are in a guard table; the native function is the same for all tables. The
native function reads the structures of CPython and NumPy directly. The native function is used only
if known objects have the expected layout; otherwise calls run in Python. May import `base`,
`symbolic`, `runtime.object_cache`, `runtime.memory`.
"""
