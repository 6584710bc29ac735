"""The command line: `axiomjit demo | info | explain | opt | cache | bench`.

May import `base`, `symbolic`, `graph`, `axis`, `passes.ir`, `passes`, `runtime.objects`,
`runtime.compiling`, `runtime.execution`, `debug`, `dispatch`, `bench`.
"""
