"""Symbolic lengths and computing with them: polynomials, quotients, ranges, index maps.

May import `base`.
"""
