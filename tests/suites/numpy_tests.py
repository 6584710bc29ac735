"""Runs NumPy's own test files with `numpy` rebound to `axiomjit.numpy`: python -m ..."""

from __future__ import annotations

import json, os, subprocess, sys, tempfile
from pathlib import Path
from tests.suites.rebound import NUMPY

def run_file(name, rebound, rounds, compile_, every, timeout):
    folder = tempfile.mkdtemp(dir="/tmp/suites")
    log = Path(folder, "log"); log.touch()
    results = {}
    done_file = Path(folder, "done")
    while True:
        done_file.write_text(json.dumps(list(results)))
        env = {**os.environ, "AXIOMJIT_SUITE_LOG": str(log), "AXIOMJIT_SUITE_ROUNDS": str(rounds),
          "AXIOMJIT_SUITE_REBOUND": str(int(rebound)), "AXIOMJIT_SUITE_COMPILE": str(int(compile_)),
          "NPY_AVAILABLE_MEM": "1 MB", "AXIOMJIT_SUITE_EVERY": str(every), "AXIOMJIT_SUITE_DONE": str(done_file)}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "tests.suites.rebound", "-p", "no:cacheprovider", "--assert=plain", "-c", os.devnull, "--rootdir", str(NUMPY), "--tb=short", str(NUMPY / name)]
        try:
            r = subprocess.run(words, env=env, timeout=timeout, capture_output=True, text=True, cwd=folder)
            code, out = r.returncode, r.stdout + r.stderr
        except subprocess.TimeoutExpired as e:
            code, out = "timeout", (e.stdout or b"").decode()
        begun = None
        for line in log.read_text().splitlines():
            row = json.loads(line)
            if "begun" in row: begun = row["begun"]
            else: results[row["id"]] = row; begun = None
        Path(folder, "out").write_text(out)
        if begun is None or begun in results:
            if code not in (0, 1): print(name, code, out[-1500:])
            return results
        results[begun] = {"id": begun, "outcome": "failed", "error": f"crash {code}", "round": 0, "lazy": 0, "learned":0, "at_once":0, "kernels":0}
        print("crash", begun, code, out[-300:])

if __name__ == "__main__":
    for name in sys.argv[1:]:
        base = run_file(name, False, 2, False, 1, 3000)
        ours = run_file(name, True, 2, False, 1, 3000)
        bad = [r for k, r in ours.items() if r["outcome"] != base[k]["outcome"] and r["outcome"] != "skipped" and base[k]["outcome"] != "failed"] if base else []
        n = sum(r["outcome"] == "passed" for r in base.values())
        print(f"{name:40} base {n:6} failed {len(bad):5} {100*(1-len(bad)/max(n,1)):.1f}%", {c: sum(r[c] for r in ours.values()) for c in ("lazy","learned","at_once","kernels")}, flush=True)
        Path("/tmp/suites/" + name.replace("/", "_") + ".json").write_text(json.dumps(bad, indent=0))
