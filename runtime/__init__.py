"""The runtime: from kernel source to running code.

May import nothing of axiomjit.
"""
