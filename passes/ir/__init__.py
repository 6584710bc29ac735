"""The forms between graph and source: their nodes, printers and verifiers.

May import `base`, `symbolic`, `views`, `graph`.
"""
