"""The benchmarking suite for CPUs, which the command `axiomjit bench` runs.

Read the modules in this order: `cases` (plain NumPy functions with inputs), `peers` (the libraries
that are compared), `worker` (a process that runs one peer in one case), `measure` (a run, which
compiles each peer of a case alone and times the peers in turns), `records` (the result file and the
meaning of its figures), `results` (ratios and their verdicts), `compare` (cases that became
slower), `table` and `page` (the reports).

Method: each peer runs in a fresh process. The first call of a peer is timed alone, with empty
caches, and the result must equal NumPy's. Rounds follow: in each round, every peer measures one
sample, in random order. A second process, pinned to one core, uses the disk caches of the first
process. Further processes of NumPy and axiomjit use the disk caches of the first process, too. The
machine's bandwidth and peak arithmetic are measured in the same run.

May import `base`, `bench.suite`, `bench.report`.
"""

if __name__ != "axiomjit.bench":
    raise ImportError(
        f"import {__name__}\n"
        "  seen: the folder of axiomjit.bench, whose modules and tables would exist twice\n"
        "  instead: import axiomjit.bench, or run python -m axiomjit.bench",
        name=__name__,
    )
