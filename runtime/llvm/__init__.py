"""Numba's code generation for the target.

May import `base`, `runtime.object_cache`.
"""
