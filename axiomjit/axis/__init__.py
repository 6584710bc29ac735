"""The axis language: axes, tensors, named arrays, functions of these, and computations.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
