"""What NumPy's functions mean on nodes: one row per function, for every door that speaks NumPy.

May import `base`, `symbolic`, `views`, `graph`.
"""
