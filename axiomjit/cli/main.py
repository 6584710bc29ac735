"""The command line: `axiomjit run | demo | info | explain | opt | cache | bench`.

`axiomjit cache ls | verify | clear` lists, checks or drops the machine code on disk.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit.base.commands import (
    BROKEN,
    OK,
    SPEC,
    load_function,
    package_version,
    run_command,
    vector_extensions,
    whole_from,
)
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.target import chosen_target, target
from axiomjit.cli.demo import SOURCE, evaluator_reason, parameters, run_demo
from axiomjit.dispatch.jit import Jitted, jit
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.parse_loops import parse_loops, print_loops
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.pipeline import LOOP_PASSES
from axiomjit.runtime.execution.workers import available_threads
from axiomjit.runtime.object_cache.entries import load, unpack
from axiomjit.runtime.object_cache.store import OBJECTS, SUFFIXES, Directory, StoredFile
from axiomjit.symbolic.dims import Scope

DIGITS: Final = 12
"""The number of a key's digits that are shown."""
NO_FOLDER: Final = (
    "memory only (AXIOMJIT_CACHE_DIR or AXIOMJIT_CACHE_MB says so, or no home folder)"
)


def add_cache_command(commands: Any) -> None:
    """Add `cache` to a parser's commands."""
    cache = commands.add_parser(
        "cache",
        help="list, check or drop the kernels kept on disk",
        description="Kernels kept on disk, which later processes load instead of compiling them.",
    )
    verbs = cache.add_subparsers(dest="verb", required=True, metavar="ls | verify | clear")
    for name, run, text in (
        ("ls", _list, "the kernels, those used last first"),
        ("verify", _verify, "load each kernel, and name those that are damaged"),
        ("clear", _clear, "drop all kernels of your own folder"),
    ):
        verbs.add_parser(name, help=text, description=text).set_defaults(run=run)


def cache_summary() -> str:
    """One line per kernel folder: its contents, or the reason why it is not used."""
    lines = []
    for folder in OBJECTS.folders():
        tier = "shared, only read" if folder.read_only else f"of at most {config.cache_mb} MB"
        reason = folder.refusal()
        held = f"not used: {reason}" if reason else f"{_amount(folder.files())}, {tier}"
        lines.append(f"{folder.path}, {held}")
    return f"\n{'':10}".join(lines) or NO_FOLDER


def _amount(files: list[StoredFile]) -> str:
    kernels = amount(len(files), "kernel")
    return f"{kernels} of {sum(file.size for file in files):,} bytes"


def _folders() -> list[Directory]:
    """The folders of kernels, which must be usable.

    Raises:
        GraphValueError: no folder is set, or a folder cannot be used, such as a folder of another
            user.
    """
    folders = OBJECTS.folders()
    if not folders:
        remedy = "name a folder in AXIOMJIT_CACHE_DIR, and leave AXIOMJIT_CACHE_MB above 0"
        raise GraphValueError("the kernels kept on disk", "none are kept", remedy)
    for folder in folders:
        if reason := folder.refusal():
            remedy = "a folder of your own that only you can write (chmod 700)"
            raise GraphValueError(f"the kernels in {folder.path}", reason, remedy)
    return folders


def _list(arguments: argparse.Namespace) -> None:
    now = time.time()
    for folder in _folders():
        files = folder.files()
        print(f"{folder.path}: {_amount(files)}")
        for file in files:
            entry = unpack(file.key, folder.read(file.key) or b"")
            made = f"{entry.compile_ms:8.1f} ms to compile" if entry else "damaged"
            age = f"{max(0.0, now - file.used) / 3600:8.1f} hours ago"
            print(f"  {file.key[:DIGITS]}  {file.size:9,} bytes  {age}  {made}")


def _verify(arguments: argparse.Namespace) -> int:
    damaged = 0
    for folder in _folders():
        files = folder.files()
        for file in files:
            entry = unpack(file.key, folder.read(file.key) or b"")
            if entry is None or load(entry) is None:
                damaged += 1
                print(f"damaged: {os.path.join(folder.path, file.key)}")
        print(f"{folder.path}: {_amount(files)} looked through")
    print(f"{damaged} damaged" + "; they are compiled again when they are needed" * bool(damaged))
    return BROKEN if damaged else OK


def _clear(arguments: argparse.Namespace) -> None:
    own = [folder for folder in _folders() if not folder.read_only]
    for folder in own:
        dropped = [file for file in folder.files() if folder.remove(file.key)]
        for suffix in SUFFIXES:
            for file in folder.files(suffix):
                folder.remove(file.key, suffix)
        print(f"{folder.path}: {_amount(dropped)} dropped")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code (see `commands.run_command`)."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["run"]:  # errors of the program are shown by Python
        from axiomjit.cli.run import main as run_program

        return run_program(words[1:])
    if words[:1] == ["bench"]:  # a program of its own, imported on demand
        from axiomjit.bench.cli import main as run_bench

        return run_bench(words[1:], "axiomjit bench")
    return run_command(_parser(), words)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="axiomjit", description="NumPy functions as fused loops, compiled for this CPU."
    )
    parser.add_argument(
        "--version", action="version", version=f"axiomjit {package_version('axiomjit', SOURCE)}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("run", help="run a program with axiomjit.numpy as numpy", add_help=False)
    demo = commands.add_parser(
        "demo",
        help="compile a function and compare it with NumPy",
        description="Compile a NumPy function, show its loop, and compare it with NumPy.",
    )
    demo.add_argument("file", nargs="?", type=Path, help="a .npy, .npz or .csv file with columns")
    demo.add_argument("--rows", type=whole_from(1), help="how many rows to generate or to take")
    demo.add_argument("--function", metavar=SPEC, help="your own function of arrays")
    demo.set_defaults(run=_demo)
    info = commands.add_parser(
        "info", help="versions, CPU, and which path runs", description="What runs here, and how."
    )
    info.set_defaults(run=_info)
    explain = commands.add_parser(
        "explain",
        help="show every stage of a function of yours",
        description="Show the graph, the loops, the source and the cost of a function.",
    )
    explain.add_argument("function", metavar=SPEC, help="a function of arrays")
    explain.add_argument(
        "--shape",
        action="append",
        type=_shape,
        default=[],
        metavar="N,M",
        help="shape of a float64 argument, once per argument; () for a number",
    )
    explain.set_defaults(run=_explain)
    _add_opt_command(commands)
    add_cache_command(commands)
    commands.add_parser("bench", help="measure against NumPy and other libraries", add_help=False)
    return parser


def _add_opt_command(commands: Any) -> None:
    opt = commands.add_parser(
        "opt",
        help="run passes on the text of a loop program",
        description="Run passes over loops on a text that lower(...).loops_before(PASS) gave.",
    )
    opt.add_argument("file", metavar="FILE", help="a file with the text; - reads it from the input")
    opt.add_argument(
        "--passes",
        type=_passes,
        default=[],
        metavar="NAME,NAME",
        help=f"passes in the order in which they run: {', '.join(LOOP_PASSES)}",
    )
    opt.add_argument("--short", action="store_true", help="print loops as lower(...).loops does")
    opt.set_defaults(run=_opt)


def _passes(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in LOOP_PASSES:
            raise argparse.ArgumentTypeError(
                f"{name!r} is no pass over loops: {', '.join(LOOP_PASSES)}"
            )
    return names


def _opt(arguments: argparse.Namespace) -> None:
    file = arguments.file
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        seen = getattr(error, "strerror", None) or str(error)
        raise GraphValueError(f"read loops from {file}", seen, "name a text file") from error
    given = parse_loops(text, "the input" if file == "-" else file)
    context = Context({}, Scope(dict(given.lengths)), chosen_target())
    program = given.program
    verify_program(program)
    for name in arguments.passes:
        program = LOOP_PASSES[name](program, context)
        verify_program(program)
    given = given.replace(program=program)
    print(print_program(program) if arguments.short else print_loops(given), end="")


def _shape(text: str) -> tuple[int, ...]:
    parts = [part for part in text.strip().strip("()[]").split(",") if part.strip()]
    try:
        shape = tuple(map(int, parts))
    except ValueError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape such as 1000,1000")
    return shape


def _demo(arguments: argparse.Namespace) -> None:
    function = load_function(arguments.function) if arguments.function else None
    run_demo(arguments.file, arguments.rows, function)


def _explain(arguments: argparse.Namespace) -> None:
    function = load_function(arguments.function)
    names, shapes = parameters(function), arguments.shape
    if len(names) != len(shapes):
        raise GraphValueError(
            f"explain {arguments.function} of {amount(len(names), 'array')} ({', '.join(names)})",
            amount(len(shapes), "shape"),
            "give --shape once per array, for example " + " ".join(["--shape 1000"] * len(names)),
        )
    jitted: Any = function if isinstance(function, Jitted) else jit(function, strict=True)
    try:
        arrays = [np.zeros(shape) for shape in shapes]
    except ValueError as error:
        asked = f"arrays of shapes {', '.join(map(str, shapes))}"
        raise GraphValueError(asked, str(error), "name shapes that fit in memory") from error
    print(jitted.explain(*arrays))


def _info(arguments: argparse.Namespace) -> None:
    cores = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores
    reason = evaluator_reason()
    cpu, features, llvm = _host()
    rows = [
        ("axiomjit", package_version("axiomjit", SOURCE)),
        ("python", f"{platform.python_version()}, {platform.python_implementation()}"),
        ("numpy", np.__version__),
        ("numba", package_version("numba")),
        ("llvmlite", package_version("llvmlite") + llvm),
        ("platform", f"{platform.system()} {platform.machine()}"),
        ("cpu", f"{cpu}, {cores} cores, {usable} usable"),
        ("threads", str(available_threads())),
        ("vectors", features),
        ("target", _target()),
        ("runs", f"evaluator ({reason})" if reason else "compiled"),
        ("fallback", config.fallback),
        ("checks", "on (AXIOMJIT_CHECK)" if config.bounds else "off"),
        ("cache", cache_summary()),
    ]
    for label, text in rows:
        print(f"{label:10}{text}")


def _target() -> str:
    """The text of the target: its name, CPU, vector length and instructions."""
    found = target()
    cpu = f" ({found.cpu})" if found.cpu not in ("", found.name) else ""
    halves = "instructions" if found.computes_float16 else "float32"
    fused = "" if found.has_fma else ", no fused multiply-add"
    return f"{found.name}{cpu}, vectors of {found.vector_bytes} bytes, float16 by {halves}{fused}"


def _host() -> tuple[str, str, str]:
    """The CPU's name, its vector extensions and LLVM's version, without an import of Numba."""
    try:
        from llvmlite import binding
    except ImportError:
        return platform.processor() or "unknown", "unknown without llvmlite", ""
    llvm = ".".join(map(str, binding.llvm_version_info))
    return binding.get_host_cpu_name(), vector_extensions() or "unknown", f", LLVM {llvm}"
