"""Cases, peers and runs: what is timed, how it is timed, and the records of it.

May import `base`, `runtime.compiling`, `runtime.execution` beside what users see.
"""
