"""`axiomjit bench`, `python -m axiomjit.bench`: what each command prints, writes, and refuses."""

import re
import subprocess
import sys

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench import cli
from axiomjit.bench.suite.records import read_result, write_result
from axiomjit.bench.suite.results import keep, kept, shortened
from axiomjit.cli.main import main
from tests.bench.fakes import install
from tests.bench.samples import FILE, result
from tests.structure.sources import ROOT, clone_only


def bench(capsys, *words):
    """Exit code, output and messages of `axiomjit bench ...`."""
    code = main(["bench", *map(str, words)])
    said = capsys.readouterr()
    return code, said.out, said.err


@clone_only
def test_from_the_root_without_numba():
    code = "from axiomjit.bench.__main__ import main; main(['list'], 'x')"
    code += "; import sys; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].split()[:4] == ["map", "axpy", "1000000", "f8"]
    assert lines[-1] == "False"


def test_help_names_the_commands(capsys):
    code, out, err = bench(capsys, "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: axiomjit bench")
    assert all(word in out for word in ("list", "run", "compare", "report"))


def test_run_writes_and_prints(capsys, monkeypatch, tmp_path):
    install(monkeypatch)
    path = tmp_path / "out.json"
    words = ["run", "--quick", "--case", "map", "--peers", "numexpr", "--json", path]
    code, out, err = bench(capsys, *words)
    assert code == 0
    assert "as fast as any: 4 of 4" in out
    assert "limits of the machine" in err
    assert all(f" {name}, " in err for name in ("axpy", "horner", "distance", "choose"))
    assert "\n4/4 " in err
    assert [p.name for p in read_result(path).peers] == ["numpy", "axiomjit", "numexpr"]


def test_run_keeps_a_dated_file(capsys, monkeypatch, tmp_path):
    install(monkeypatch)
    monkeypatch.setattr(cli, "results_folder", lambda asked: tmp_path / "results")
    code, out, _ = bench(capsys, "run", "--quick", "--case", "axpy", "--record")
    assert code == 0
    (path,) = (tmp_path / "results").iterdir()
    kept_result = read_result(path)
    environment = kept_result.environment
    assert path.name == f"{environment.date[:10]}-{environment.machine}.json"
    assert f"kept as {path}" in out
    assert kept_result == shortened(kept_result)
    assert kept(tmp_path / "results") == (kept_result,)


def test_nothing_kept_is_refused(tmp_path):
    with pytest.raises(BenchError, match="no file in"):
        kept(tmp_path)
    with pytest.raises(BenchError, match="keep results in"):
        keep(result(), tmp_path / "a" / "b")


def test_compare_exits_with_1_for_a_regression(capsys, monkeypatch, tmp_path):
    before, after = tmp_path / "a.json", tmp_path / "b.json"
    for path, slower in ((before, {}), (after, {"axpy": 2.0})):
        install(monkeypatch, slower)
        bench(capsys, "run", "--quick", "--case", "map", "--json", path)
    code, out, err = bench(capsys, "compare", before, after)  # still installed: twice as slow
    assert code == 1
    assert out.startswith("slower: axpy, 2 threads: 0.")
    assert "measuring" not in err
    assert "1/1 axpy" in err
    code, out, _ = bench(capsys, "compare", before, before)
    assert code == 0
    assert out.startswith("4 timings compared, none slower")
    install(monkeypatch)
    assert bench(capsys, "compare", before, after)[0] == 0  # the rerun is as fast as before
    assert bench(capsys, "compare", before, after, "--no-rerun")[0] == 1


def test_markdown_has_losses_first(capsys, golden):
    code, out, err = bench(capsys, "report", FILE, "--markdown")
    assert (code, err) == (0, "")
    golden(out)


def test_text_has_losses_first(golden):
    from axiomjit.bench.report.table import table

    golden(table(result()))


def test_a_chart_is_drawn(capsys, tmp_path):
    path = tmp_path / "chart.svg"
    assert bench(capsys, "report", FILE, "--chart", path) == (0, f"wrote {path}\n", "")
    assert path.read_text(encoding="utf-8").startswith("<svg ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "--case", "axpi"], "the case axpi; seen: no case or group of that name; instead:"),
        (["run", "--peers", "nunba"], "compare with nunba; seen: no peer of that name; instead:"),
        (["run", "--case", "no.py:f"], "the function no.py:f; seen: no file no.py; instead:"),
        (["compare", "a.json", "b.json"], "read the results in a.json; seen: [Errno 2]"),
        (["run", "--json", "no/a.json"], "write no/a.json; seen: no folder "),
        (["run", "--json", "."], "write .; seen: it cannot be written; instead: name a file"),
        (["report"], "report; seen: no file of results; instead: name one written by"),
    ],
)
def test_refusals_are_one_line(capsys, words, message):
    code, out, err = bench(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"axiomjit bench {words[0]}: {message}")
    assert err.count("\n") == 1


def test_numbers_out_of_range_are_wrong_usage(capsys):
    code, out, err = bench(capsys, "run", "--seed", "-1")
    assert (code, out) == (2, "")
    assert re.search(r"'-?\d' is not a whole number from \d on$", err.strip())


def test_another_machine_is_refused(capsys, tmp_path):
    other = result()
    write_result(other.replace(environment=other.environment.replace(machine="0")), tmp_path / "b")
    code, _, err = bench(capsys, "compare", FILE, tmp_path / "b")
    assert code == 2
    assert "files of two machines" in err
