"""The command `axiomjit bench list | run | compare | report`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from pathlib import Path

from axiomjit.base.commands import run_command, whole_from
from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.cases import CASES, find
from axiomjit.bench.suite.peers import PEERS, SLOW, chosen
from axiomjit.bench.suite.records import read_result, write_result, write_text
from axiomjit.bench.suite.results import results_folder

CASE_HELP = "a case, a group, or your own function as FILE.py:FUNCTION; may be given again"
OWN_GROUP = """\
A function of your own is named FILE.py:FUNCTION. Beside FUNCTION the file defines
FUNCTION_inputs(rng), which returns its arguments as a tuple (rng is a numpy.random.Generator
with a fixed seed), or every parameter has a default. It may define FUNCTION_numexpr (the
expression as text), FUNCTION_einsum (subscripts) and FUNCTION_loops (loops for Numba).
"""


def main(argv: Sequence[str] | None, program: str) -> int:
    """Run a command; return an exit code of `commands.run_command` or of `compare`."""
    return run_command(_parser(program), argv)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=program, description="Measure axiomjit against NumPy and other libraries."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    listing = commands.add_parser("list", help="the cases", description="Print the cases.")
    listing.set_defaults(run=_list)
    run = commands.add_parser(
        "run",
        help="measure",
        description="Measure cases; every result is compared with NumPy's before a time counts.",
        epilog=OWN_GROUP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    run.add_argument("--case", action="append", default=[], metavar="NAME", help=CASE_HELP)
    run.add_argument(
        "--peers",
        default="",
        metavar="A,B",
        help=f"of {', '.join(PEERS)}; without it all installed ones but {', '.join(SLOW)}; "
        "NumPy and axiomjit always run",
    )
    run.add_argument(
        "--quick", action="store_true", help="fewer rounds, all threads only, serial Numba only"
    )
    seed = "of the arguments and the order of turns"
    run.add_argument("--seed", type=whole_from(0), default=0, help=seed)
    run.add_argument("--json", type=Path, metavar="FILE", help="write the results")
    run.add_argument(
        "--record",
        action="store_true",
        help="keep them as a dated file in bench/results; in a clone only",
    )
    run.set_defaults(run=_run)
    _add_compare(commands)
    _add_report(commands)
    return parser


def _add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    compare = commands.add_parser(
        "compare",
        help="find what became slower",
        description="Compare two runs of one machine; exits with 1 where a case became slower.",
        epilog="A case is slower where its ratio to NumPy grew by more than a quarter, the "
        "intervals of both ratios do not meet, and measuring it once more, in the tree that this "
        "command belongs to, says so again.",
    )
    compare.add_argument("before", type=Path, metavar="A.json", help="an earlier run")
    compare.add_argument("after", type=Path, metavar="B.json", help="one of this tree")
    compare.add_argument(
        "--no-rerun", action="store_true", help="believe the files, measure nothing again"
    )
    compare.set_defaults(run=_compare)


def _add_report(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    report = commands.add_parser(
        "report",
        help="a page or a table of results",
        description="Write one self-contained HTML page of a run, or print its table.",
    )
    report.add_argument("file", nargs="?", type=Path, metavar="FILE.json", help="the results")
    report.add_argument("--markdown", action="store_true", help="print the tables as Markdown")
    report.add_argument("--chart", type=Path, metavar="FILE.svg", help="draw the geometric means")
    report.add_argument(
        "--publish",
        action="store_true",
        help="write the newest kept result into the documents of this clone",
    )
    report.add_argument("--out", type=Path, metavar="FILE.html", help="where the page goes")
    report.set_defaults(run=_report)


def _list(arguments: argparse.Namespace) -> None:
    from axiomjit.bench.report.table import list_cases

    print(list_cases(CASES), end="")


def _run(arguments: argparse.Namespace) -> None:
    from axiomjit.bench.report.table import table
    from axiomjit.bench.suite.measure import run
    from axiomjit.bench.suite.results import keep

    workloads = find(arguments.case)
    folder = results_folder("keep results") if arguments.record else None
    if arguments.json:
        _check_writable(arguments.json)
    names = [name for name in arguments.peers.split(",") if name]
    peers = chosen(names, arguments.quick)
    result = run(workloads, peers, quick=arguments.quick, seed=arguments.seed)
    print(table(result), end="")
    if arguments.json:
        write_result(result, arguments.json)
    if folder:
        print(f"kept as {keep(result, folder)}")


def _check_writable(path: Path) -> None:
    """Raise an error for an unwritable file before minutes are spent on measurements."""
    folder = path.absolute().parent
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        seen = "it cannot be written" if folder.is_dir() else f"no folder {folder}"
        raise BenchError(f"write {path}", seen, "name a file that can be written")


def _compare(arguments: argparse.Namespace) -> int:
    from axiomjit.bench.suite.compare import compare, measure_again

    before, after = read_result(arguments.before), read_result(arguments.after)
    verdict = compare(before, after, None if arguments.no_rerun else measure_again(after))
    print(verdict.text, end="")
    return 1 if verdict.slower else 0


def _report(arguments: argparse.Namespace) -> None:
    from axiomjit.bench.report.page import page
    from axiomjit.bench.report.publish import group_chart, publish
    from axiomjit.bench.report.table import markdown
    from axiomjit.bench.suite.results import kept

    if arguments.publish:
        folder = results_folder("publish results")
        for path in publish(kept(folder)[-1], folder.parents[1]):
            print(f"wrote {path}")
        return
    if arguments.file is None:
        raise BenchError("report", "no file of results", "name one written by `run --json`")
    if arguments.chart:
        out = arguments.chart
        write_text(group_chart(read_result(arguments.file)), out)
    elif arguments.markdown:
        print(markdown(read_result(arguments.file)), end="")
        return
    else:
        out = arguments.out or arguments.file.with_suffix(".html")
        write_text(page(read_result(arguments.file)), out)
    print(f"wrote {out}")
