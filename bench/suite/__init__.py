"""Measure cases with peers, and store the results of runs.

May import `base`, `runtime.codegen`, `runtime.execution` besides the public interface.
"""
