"""Accumulators, folds of arrays and tensors by them, and functions of elements.

May import `base`, `symbolic`, `views`, `graph`, `numpy_table`.
"""
