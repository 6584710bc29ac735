"""Measure accuracy and speed of elementary functions, and compute their tables.

May import `base`, `passes.ir`, `passes.costs`, `runtime.vector_math`, `runtime.compiling`,
`runtime.launching`, `bench.suite`.
"""
