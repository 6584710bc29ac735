"""The execution of plans, which calls kernels in chunks on threads, and calls libraries.

May import `base`, `symbolic`, `passes.ir`, `runtime.memory`, `runtime.codegen`,
`runtime.native_call`.
"""
