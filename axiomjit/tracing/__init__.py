"""Trace a Python function once, with values that represent its arguments, to get its graph.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
