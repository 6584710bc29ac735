"""What programs cost: estimates of traffic, operations and cycles, and the tables they use.

May import `base`, `symbolic`, `graph`, `passes.ir`.
"""
