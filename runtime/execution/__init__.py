"""Execution of plans: arguments bound, kernels called in chunks on threads, library calls.

May import `base`, `symbolic`, `passes.ir`, `runtime.pool`, `runtime.names`, `runtime.compiling`,
`runtime.native_call`.
"""
