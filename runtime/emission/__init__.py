"""What operations on values become in LLVM code, by kind of dtype.

May import `base`, `runtime.llvm`.
"""
