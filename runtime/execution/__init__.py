"""Execution of plans: arguments bound, kernels called in chunks on threads, library calls.

May import `base`, `symbolic`, `passes.ir`, `runtime.memory`, `runtime.codegen`,
`runtime.native_call`.
"""
