"""The forms of programs between graph and source: their records, printers and verifiers.

Beside them are rewrites of loop programs, and estimates of cost (`costs.py`).

May import `base`, `symbolic`, `views`, `graph`.
"""
