"""Memory of arrays and argument blocks.

May import `base`, `runtime.object_cache`.
"""
