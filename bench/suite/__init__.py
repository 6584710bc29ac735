"""Cases, peers and runs: measurements, their method, and their records.

May import `base`, `runtime.codegen`, `runtime.execution` besides the public interface.
"""
