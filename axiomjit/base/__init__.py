"""Records, errors, settings, dtypes and the target CPU, used by all packages.

The base class of array values and the tokens of specs, shared by front ends, are here, too.

May import nothing of axiomjit.
"""
