"""The command line: `axiomjit demo | info | explain`."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import platform
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from axiomjit.config import config
from axiomjit.datafile import read_data
from axiomjit.demo import SOURCE, SPEC, evaluator_reason, package_version, parameters, run_demo
from axiomjit.errors import AxiomError, CompileError, GraphValueError, VerifyError
from axiomjit.jit import Jitted, jit
from axiomjit.runtime.schedule import available_threads

OK, BROKEN, USAGE, INTERRUPTED = 0, 1, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: the arguments after the program's name; those of the process by default.

    Returns:
        0 when done, 2 for wrong usage or a file that cannot be used, 1 for a defect of axiomjit
        or when nobody reads the output any more, 130 when interrupted.
    """
    for stream in (sys.stdout, sys.stderr):  # names from files print in any locale
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as end:  # argparse has printed help or what is wrong
        return end.code if isinstance(end.code, int) else USAGE
    try:
        arguments.run(arguments)
        sys.stdout.flush()
        return OK
    except (CompileError, VerifyError) as error:
        print(f"axiomjit {arguments.command}: {error}", file=sys.stderr)
        return BROKEN
    except AxiomError as error:
        message = _one_line(error)
    except MemoryError as error:
        message = f"out of memory ({error or 'no details'}); use fewer rows or smaller shapes"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed again at exit
        return BROKEN
    except KeyboardInterrupt:
        print(f"\naxiomjit {arguments.command}: interrupted", file=sys.stderr)
        return INTERRUPTED
    sys.stdout.flush()
    print(f"axiomjit {arguments.command}: {message}", file=sys.stderr)
    return USAGE


def _one_line(error: AxiomError) -> str:
    """The three parts of an error, and where the user wrote it, on one line."""
    place = f"{error.where}: " if error.where else ""
    text = f"{place}{error.asked}; seen: {error.seen}; instead: {error.remedy}"
    return " ".join(text.split())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="axiomjit", description="NumPy functions as fused loops, compiled for this CPU."
    )
    parser.add_argument(
        "--version", action="version", version=f"axiomjit {package_version('axiomjit', SOURCE)}"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="compile a function and compare it with NumPy",
        description="Compile a NumPy function, show its loop, and compare it with NumPy.",
    )
    demo.add_argument("file", nargs="?", type=Path, help="a .npy, .npz or .csv file with columns")
    demo.add_argument("--rows", type=_positive, help="how many rows to generate or to take")
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
    return parser


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return number


def _shape(text: str) -> tuple[int, ...]:
    parts = [part for part in text.strip().strip("()[]").split(",") if part.strip()]
    try:
        shape = tuple(map(int, parts))
    except ValueError:
        shape = (-1,)
    if any(n < 0 for n in shape):
        raise argparse.ArgumentTypeError(f"{text!r} is no shape such as 1000,1000")
    return shape


def load_function(spec: str) -> Callable[..., Any]:
    """The function that `FILE.py:FUNCTION` names; the file is run as a module.

    Raises:
        GraphValueError: no such file or function, or the file raises.
    """
    file, colon, name = spec.rpartition(":")
    path = Path(file)
    asked = f"the function {spec}"
    if not colon or not name or path.suffix != ".py":
        raise GraphValueError(asked, f"not of the form {SPEC}", "write for example work.py:norm")
    if not path.is_file():
        raise GraphValueError(asked, f"no file {file}", "name a Python file")
    module_spec = importlib.util.spec_from_file_location(f"_axiomjit_{path.stem}", path)
    assert module_spec is not None
    assert module_spec.loader is not None
    module = importlib.util.module_from_spec(module_spec)
    sys.path.insert(0, str(path.parent.resolve()))  # as for a script
    sys.modules[module_spec.name] = module
    try:
        module_spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        where = _line_in(path, error)
        seen = f"{type(error).__name__}: {error}"
        raise GraphValueError(asked, seen, "correct the file", where) from error
    finally:
        sys.path.pop(0)
    found = getattr(module, name, None)
    if not callable(found) or isinstance(found, type):
        functions = [k for k, v in vars(module).items() if inspect.isfunction(v)]
        known = ", ".join(functions) or "none"
        raise GraphValueError(asked, f"no function {name} in {file}", f"functions there: {known}")
    return found  # type: ignore[no-any-return]


def _line_in(path: Path, error: BaseException) -> str:
    """The file, with the last of its lines that the error passed through."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename) == path.absolute()]
    return f"{path}:{lines[-1]}" if lines else str(path)


def _demo(arguments: argparse.Namespace) -> None:
    function = load_function(arguments.function) if arguments.function else None
    data = read_data(arguments.file, arguments.rows) if arguments.file else None
    run_demo(data, arguments.rows, function)


def _explain(arguments: argparse.Namespace) -> None:
    function = load_function(arguments.function)
    names, shapes = parameters(function), arguments.shape
    if len(names) != len(shapes):
        raise GraphValueError(
            f"explain {arguments.function} of {len(names)} arrays ({', '.join(names)})",
            f"{len(shapes)} shapes",
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
        ("runs", f"evaluator ({reason})" if reason else "compiled"),
        ("fallback", config.fallback),
        ("checks", "on (AXIOMJIT_CHECK)" if config.bounds else "off"),
        ("cache", "memory only"),
    ]
    for label, text in rows:
        print(f"{label:10}{text}")


def _host() -> tuple[str, str, str]:
    """The CPU's name, its vector extensions, and LLVM's version; numba is not imported."""
    try:
        from llvmlite import binding
    except ImportError:
        return platform.processor() or "unknown", "unknown without llvmlite", ""
    families = ("sse4.2", "avx", "fma", "f16c", "neon", "sve", "rvv", "vsx")
    try:
        features = binding.get_host_cpu_features()
    except RuntimeError:  # LLVM does not know this CPU
        features = {}
    found = sorted(f for f, on in features.items() if on and f.startswith(families))
    llvm = ".".join(map(str, binding.llvm_version_info))
    return binding.get_host_cpu_name(), " ".join(found) or "unknown", f", LLVM {llvm}"
