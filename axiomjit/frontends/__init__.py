"""Names that users of other systems look for.

May import nothing of axiomjit.
"""
