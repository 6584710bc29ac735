"""The command line: `axiomjit demo | info | explain | cache | bench`.

May import `base`, `graph`, `axis`, `passes.ir`, `runtime.object_cache`, `runtime.codegen`,
`runtime.execution`, `debug`, `dispatch`, `bench`.
"""
