"""Names that users of other systems expect.

May import nothing of axiomjit.
"""
