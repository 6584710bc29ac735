"""Following a Python function once, with values that stand for its arguments, to get its graph.

May import `base`, `algebra`, `views`, `graph`, `numpy_table`.
"""
