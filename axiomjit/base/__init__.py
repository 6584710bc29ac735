"""What every other package stands on: records, errors, settings, dtypes, the target CPU.

May import nothing of axiomjit.
"""
