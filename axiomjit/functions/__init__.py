"""The user's functions: their source, instrumented copies, and the outside they read and change.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `tracing`.
"""
