"""Symbolic lengths and what is computed with them: polynomials, quotients, ranges, index maps.

May import `base`.
"""
