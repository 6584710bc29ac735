"""The command line: `axiomjit run | demo | info | explain | opt | cache | bench`.

May import `base`, `symbolic`, `graph`, `axis`, `functions`, `passes.ir`, `passes`,
`runtime.object_cache`, `runtime.codegen`, `runtime.execution`, `debug`, `dispatch`, `bench`.
"""
