"""The command line: `axiomjit demo | info | explain | bench`.

May import `base`, `graph`, `axis`, `passes.ir`, `runtime.compiling`, `runtime.launching`, `show`,
`driver`, `bench`.
"""
