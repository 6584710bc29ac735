"""User-defined reductions (accumulators) and elementwise functions of arrays and tensors.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
