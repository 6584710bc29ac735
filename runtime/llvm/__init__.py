"""Numba's code generation for the target, the symbols of objects, and rewriting of LLVM's loops.

May import `base`.
"""
