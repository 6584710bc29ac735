"""Records, errors, settings, dtypes and the target CPU: the ground floor of every package.

May import nothing of axiomjit.
"""
