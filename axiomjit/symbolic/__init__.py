"""Symbolic lengths: polynomials, quotients, ranges, index maps.

May import `base`.
"""
