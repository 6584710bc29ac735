"""The cost of loops in cycles; `passes.loops.estimate_cost` has bytes and operations.

May import `base`, `graph`, `passes.ir`.
"""
