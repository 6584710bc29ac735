"""The meaning of NumPy's functions on nodes: one rule per function, for every front end.

May import `base`, `symbolic`, `views`, `graph`.
"""
