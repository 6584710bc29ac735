"""Records, errors, settings, dtypes and the target CPU, used by all packages.

The package also has the base class of array values and the tokens of specs, which the front ends
share.

May import nothing of axiomjit.
"""
