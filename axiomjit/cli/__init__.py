"""The command line: `axiomjit demo | info | explain | cache | bench`.

May import `base`, `graph`, `axis`, `passes.ir`, `runtime.object_cache`, `runtime.compiling`,
`runtime.execution`, `debug`, `dispatch`, `bench`.
"""
