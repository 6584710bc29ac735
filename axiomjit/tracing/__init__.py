"""Traces a Python function: a call with values that represent its arguments makes a graph.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`.
"""
