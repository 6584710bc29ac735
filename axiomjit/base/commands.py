"""Parts shared by all commands: exit codes, one-line errors, loading the user's functions."""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from axiomjit.base.errors import AxiomError, CompileError, GraphValueError, VerifyError
from axiomjit.base.locks import lazy_import

OK, BROKEN, USAGE, INTERRUPTED = 0, 1, 2, 130
SPEC: Final = "CODE.py:NAME"
"""The form in which users name a function in a file."""


def run_command(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> int:
    """Parse the arguments, run the chosen command and return the exit code.

    Args:
        parser: The program's parser; each of its commands sets `run`.
        argv: The arguments after the program's name; None for the arguments of the process.

    Returns:
        0 if the command is done, 2 for wrong usage or an unusable file, 1 for a defect of axiomjit
        or a closed output pipe, 130 when interrupted.
    """
    for stream in (sys.stdout, sys.stderr):  # so that file names can be printed in any locale
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has printed the help or the error
        return end.code if isinstance(end.code, int) else USAGE
    program = f"{parser.prog} {arguments.command}"
    try:
        code = arguments.run(arguments)
        sys.stdout.flush()
        return code or OK
    except (CompileError, VerifyError) as error:
        print(f"{program}: {error}", file=sys.stderr)
        return BROKEN
    except AxiomError as error:
        message = on_one_line(error)
    except MemoryError as error:
        message = f"out of memory ({error or 'no details'}); use fewer rows or smaller shapes"
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # flushed again at exit
        return BROKEN
    except KeyboardInterrupt:
        print(f"\n{program}: interrupted", file=sys.stderr)
        return INTERRUPTED
    sys.stdout.flush()
    print(f"{program}: {message}", file=sys.stderr)
    return USAGE


def whole_from(least: int) -> Callable[[str], int]:
    """Return an argparse type that reads an integer of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {least} on")
        return number

    return read


def on_one_line(error: AxiomError) -> str:
    """The three parts of an error, and the user's line, on one line."""
    place = f"{error.where}: " if error.where else ""
    text = f"{place}{error.asked}; seen: {error.seen}; instead: {error.remedy}"
    return " ".join(text.split())


def package_version(package: str, absent: str = "not installed") -> str:
    """The version of an installed package, or `absent` if the package is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return absent


def load_function(spec: str) -> Callable[..., Any]:
    """Run the file of `FILE.py:FUNCTION` as a module and return its function.

    Raises:
        GraphValueError: the file or function does not exist, or running the file raises an error.
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
    sys.path.insert(0, str(path.parent.resolve()))  # as Python does for a script
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
    """`file:line` of the innermost frame in a traceback that runs code of the file `path`."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename) == path.absolute()]
    return f"{path}:{lines[-1]}" if lines else str(path)


def vector_extensions() -> str:
    """This CPU's vector extensions by LLVM's names; empty if LLVM does not know the CPU.

    Raises:
        ImportError: llvmlite is not installed.
    """
    try:
        found = lazy_import("llvmlite.binding").get_host_cpu_features()
    except RuntimeError:
        return ""
    return " ".join(sorted(f for f, on in found.items() if on and f.startswith(VECTORS)))


VECTORS: Final = ("sse4.2", "avx", "fma", "f16c", "neon", "sve", "rvv", "vsx")
