"""The forms of programs between graph and source: their records, printers and verifiers.

May import `base`, `symbolic`, `views`, `graph`.
"""
