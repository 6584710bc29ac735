"""The axis language: axes, tensors, named arrays, functions of them, and computations.

May import `base`, `algebra`, `views`, `graph`, `numpy_table`.
"""
