"""Prints what recorded tasks of a program would take on many workers.

`python -m tests.programs.simulated_workers [NAME ...]`: each task of a program of
`block_programs.py` runs alone in this process, and its processor time and the bytes of its result
are recorded. The tasks are then scheduled on workers of one thread as Dask does it: in the order of
the graph, each on the worker that is free first or, if that is not later, on the one that has most
of what the task reads. A result that another worker has is sent at `--rate` bytes a second, and
waits for both. Printed are the seconds of one worker, those of the path that nothing can shorten,
those of the workers, the largest transfer, and the most bytes of results that one worker holds.
"""

import argparse
import time
from typing import NamedTuple

import dask
from dask.callbacks import Callback
from dask.sizeof import sizeof

from tests.programs.block_programs import DASK, OURS, PROGRAMS, results

WORKERS, RATE, SIZE, BLOCKS = 64, 1e9, 2**21, 512


class Task(NamedTuple):
    """The seconds of a task, the bytes of its result, and the tasks whose results it reads."""

    seconds: float
    size: int
    needs: frozenset


class Simulated(NamedTuple):
    """Seconds: alone, of the longest path, and on the workers; bytes: one transfer, one worker."""

    alone: float
    path: float
    seconds: float
    transfer: int
    peak: int


class Recorder(Callback):
    """Records the tasks that a local scheduler runs."""

    def __init__(self):
        self.tasks, self._start = {}, 0.0
        super().__init__(pretask=self._before, posttask=self._after)

    def _before(self, key, graph, state):
        self._start = time.process_time()

    def _after(self, key, result, graph, state, worker):
        seconds = time.process_time() - self._start
        self.tasks[key] = Task(seconds, sizeof(result), frozenset(state["dependencies"][key]))


def recorded(name, way, size=SIZE, blocks=BLOCKS):
    """The tasks of a program by their keys, in the order in which Dask runs them."""
    dask.compute(results(name, way, size, 3), scheduler="synchronous")  # kernels are compiled
    with Recorder() as recorder:
        dask.compute(results(name, way, size, blocks), scheduler="synchronous")
    tasks = recorder.tasks
    return {k: one._replace(needs=one.needs & tasks.keys()) for k, one in tasks.items()}


def simulated(tasks, workers=WORKERS, rate=RATE):
    """Run tasks in order on simulated workers; return times, transfers and memory."""
    free, ends, homes, path = [0.0] * workers, {}, {}, {}
    readers = dict.fromkeys(tasks, 0)
    for task in tasks.values():
        for one in task.needs:
            readers[one] += 1
    changes, largest = [], 0
    for key, task in tasks.items():

        def arrives(worker, task=task):
            sent = (ends[n] + (homes[n] != worker) * tasks[n].size / rate for n in task.needs)
            return max(free[worker], max(sent, default=0.0))

        near = {homes[n] for n in task.needs} | {min(range(workers), key=free.__getitem__)}
        worker = min(sorted(near), key=arrives)
        begins = arrives(worker)
        for n in task.needs:
            if homes[n] != worker:
                largest = max(largest, tasks[n].size)
                changes += [
                    (begins, worker, tasks[n].size),
                    (begins + task.seconds, worker, -tasks[n].size),
                ]
        free[worker] = ends[key] = begins + task.seconds
        homes[key] = worker
        path[key] = task.seconds + max((path[n] for n in task.needs), default=0.0)
        changes.append((ends[key], worker, task.size))
        for n in task.needs:
            readers[n] -= 1
            if not readers[n]:
                changes.append((ends[key], homes[n], -tasks[n].size))
    alone = sum(task.seconds for task in tasks.values())
    return Simulated(alone, max(path.values()), max(ends.values()), largest, _peak(changes))


def _peak(changes):
    """The most bytes that a worker holds; each change has a time, a worker, and bytes."""
    held, most = {}, 0
    for _, worker, size in sorted(changes, key=lambda change: (change[0], -change[2])):
        held[worker] = held.get(worker, 0) + size
        most = max(most, held[worker])
    return most


def line(name, way, found):
    """A line of the table."""
    times = (
        f"{found.alone:9.2f}{found.path:9.3f}{found.seconds:9.3f}{found.alone / found.seconds:8.1f}"
    )
    return f"{name:14}{way:10}{times}{found.transfer / 2**20:10.2f}{found.peak / 2**20:9.1f}"


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; without one, all")
    parser.add_argument("--workers", type=int, default=WORKERS)
    parser.add_argument("--rate", type=float, default=RATE, help="bytes a second between workers")
    parser.add_argument("--bytes", type=int, default=SIZE, help="of a block")
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    given = parser.parse_args()
    heads = f"{'one s':>9}{'path s':>9}{'all s':>9}{'faster':>8}{'sent MB':>10}{'held MB':>9}"
    print(f"{'program':14}{'way':10}{heads}")
    for name in given.names or PROGRAMS:
        for way in (DASK, OURS):
            tasks = recorded(name, way, given.bytes, given.blocks)
            print(line(name, way, simulated(tasks, given.workers, given.rate)), flush=True)


if __name__ == "__main__":
    main()
