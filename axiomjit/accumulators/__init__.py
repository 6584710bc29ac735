"""Accumulators: user-defined reductions of arrays and tensors, and elementwise functions.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
