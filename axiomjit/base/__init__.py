"""What every other package stands on: records, errors, settings, dtypes, the target CPU.

Also what several doors share: the base of array values, and tokens of specs.

May import nothing of axiomjit.
"""
