"""The execution of plans: kernels are called in chunks on threads, and libraries are called.

May import `base`, `symbolic`, `passes.ir`, `runtime.memory`, `runtime.codegen`,
`runtime.native_call`.
"""
