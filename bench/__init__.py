"""The CPU benchmarking suite: `python -m axiomjit.bench`, or `axiomjit bench`.

Read in this order: `cases` (what is measured: plain NumPy functions with inputs), `peers` (what it
is measured against), `worker` (a process that runs one peer in one case), `measure` (all peers of a
case, compiled alone, timed alternately), `run` (a whole run), `records` (the result file and what
its figures mean), `compare` (what became slower), `table` and `page` (what people read).

How a figure comes about: every peer is a fresh process; its first call is timed alone, with empty
caches; its result must be NumPy's; then rounds follow in which all peers take one sample each, in
an order drawn anew. A second process, pinned to one core, finds the disk caches of the first. The
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
