"""The axis language: axes, tensors and named arrays, their functions, and computations.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
