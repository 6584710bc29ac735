"""Measure accuracy and speed of elementary functions, and compute their tables.

These are tools of a clone, run from its root, and no part of the package.
"""
