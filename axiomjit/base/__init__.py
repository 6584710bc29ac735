"""Records, errors, settings, dtypes and the target CPU, used by all packages.

Also the base class of array values and the tokens of specs, which front ends share.

May import nothing of axiomjit.
"""
