"""The costs of programs: estimates of traffic, operations and cycles.

May import `base`, `symbolic`, `graph`, `passes.ir`.
"""
