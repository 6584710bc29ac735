"""Tests in processes of their own, with the plugin `tests.suites.rebound`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.suites.rebound import COUNTED, results_in

ROOT = Path(__file__).parents[2]


def run_tests(words, folder, environment, at=None):
    """The outcome of each test, by its id; a test that ends the process has failed.

    Args:
        words: The arguments of pytest.
        folder: An empty folder.
        environment: Variables for the process.
        at: The folder in which it runs; without it, the empty one.
    """
    log, done = Path(folder, "log"), Path(folder, "done")
    for path in (log, done):
        path.write_text("")
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    files = {"AXIOMJIT_SUITE_LOG": str(log), "AXIOMJIT_SUITE_DONE": str(done), "PYTHONPATH": paths}
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "tests.suites.rebound"]
    command += ["-p", "no:cacheprovider", *words]
    environment = {**os.environ, **files, **environment}
    while True:
        ended = subprocess.run(
            command, env=environment, capture_output=True, text=True, cwd=at or folder
        )
        found, begun = results_in(log)
        if begun is None:
            if ended.returncode not in (0, 1, 5):
                raise RuntimeError(f"{words}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
            return found
        ending = {"id": begun, "outcome": "failed", "error": f"ended: {ended.returncode}"}
        with log.open("a") as file:
            print(json.dumps(ending | dict.fromkeys(COUNTED, 0) | {"reasons": []}), file=file)
        done.write_text("\n".join([*found, begun]))
