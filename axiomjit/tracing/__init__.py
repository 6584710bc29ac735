"""Follow a Python function once, with values that represent its arguments, to get its graph.

May import `base`, `algebra`, `views`, `graph`, `numpy_table`.
"""
