"""Estimate the cost of loops in cycles, and of regions in bytes and operations.

May import `base`, `symbolic`, `graph`, `passes.ir`.
"""
