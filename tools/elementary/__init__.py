"""Measure accuracy and speed of elementary functions, and compute their tables.

Tools of a clone, run from its root: they are no part of the package.
"""
