"""Memory of arrays and argument blocks.

May import `base`, `runtime.objects`.
"""
