"""Elementary functions: their accuracy, their speed, and the scripts that make their tables.

May import `base`, `passes.ir`, `passes.costs`, `runtime.vector_math`, `runtime.compiling`,
`runtime.launching`, `bench.suite`.
"""
