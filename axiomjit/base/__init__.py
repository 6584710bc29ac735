"""Records, errors, settings, dtypes and the target CPU: the ground floor of every package.

Also what several doors share: the base of array values, and tokens of specs.

May import nothing of axiomjit.
"""
