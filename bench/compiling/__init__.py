"""Measure compile times, in a process that has compiled before and in a new process.

May import `base`, `passes.ir`, `runtime.codegen`, `runtime.execution`, `bench.suite`.
"""
