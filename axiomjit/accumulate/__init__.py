"""Accumulators, folds of arrays and tensors by them, and functions of elements.

May import `base`, `algebra`, `views`, `graph`, `numpy_table`.
"""
