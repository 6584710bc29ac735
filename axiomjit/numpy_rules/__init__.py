"""The rules of NumPy's functions; the rule of a function makes the nodes of its result.

May import `base`, `symbolic`, `views`, `graph`.
"""
