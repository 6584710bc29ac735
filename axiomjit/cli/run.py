"""`axiomjit run program.py` or `-m module`: run a program whose `numpy` is `axiomjit.numpy`."""

from __future__ import annotations

import argparse
import atexit
import builtins
import os
import sys
from collections import Counter
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, find_spec
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

import axiomjit
from axiomjit.base.commands import OK, USAGE, on_one_line
from axiomjit.base.errors import AxiomError, GraphValueError
from axiomjit.base.origins import hide_frames
from axiomjit.cli.rebinding import rebind, rebound_code
from axiomjit.functions.numpy_imports import DROP_IN

PROGRAM_NAME: Final = "axiomjit run"
PROJECT_OPTION: Final = "--project"


def main(words: Sequence[str]) -> int:
    """Run a program as Python does; return 0, or 2 for wrong usage or a missing program.

    Errors of the program, including `SystemExit`, are not caught.
    """
    own, rest = _split(words)
    try:
        arguments = _parser().parse_args(own)
    except SystemExit as end:  # argparse has printed the help or the error
        return end.code if isinstance(end.code, int) else USAGE
    try:
        try:
            module, code = _prepared(arguments, rest)
        except GraphValueError as error:
            print(f"{PROGRAM_NAME}: {on_one_line(error)}", file=sys.stderr)
            return USAGE
        if arguments.stats or arguments.explain:
            atexit.register(_report, arguments.stats, arguments.explain)
        sys.modules["__main__"] = module
        exec(code, vars(module))
    except BaseException as error:
        _show_own_frames(error)
        raise
    return OK


def _split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split a command line into our options with the program, and the program's own arguments."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-":
        if words[at] == "-m":
            at += 1
            break
        at += 2 if words[at] == PROJECT_OPTION else 1
    return list(words[: at + 1]), list(words[at + 1 :])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROGRAM_NAME,
        usage=f"{PROGRAM_NAME} [--stats] [--explain] [--project FOLDER] "
        "(program.py | -m module) [args]",
        description="Run a program as Python does, with numpy rebound to axiomjit.numpy in its "
        "own files: those in its folder and below, and the package that -m names. Installed "
        "packages and Python's library keep NumPy.",
        allow_abbrev=False,
    )
    parser.add_argument("program", nargs="?", help="a file or folder; - reads it from the input")
    parser.add_argument("-m", dest="module", metavar="module", help="a module or package")
    parser.add_argument(
        PROJECT_OPTION,
        action="append",
        default=[],
        metavar="FOLDER",
        help="another folder with files of the program; may be given again",
    )
    parser.add_argument(
        "--stats",
        action="store_true",
        help="at the end print axiomjit.stats(), and the operations that NumPy ran at once",
    )
    parser.add_argument(
        "--explain", action="store_true", help="at the end print axiomjit.explain_last()"
    )
    return parser


def _prepared(arguments: argparse.Namespace, rest: list[str]) -> tuple[ModuleType, CodeType]:
    """Prepare `sys.argv`, `sys.path` and imports; return the module `__main__` and its code.

    Raises:
        GraphValueError: there is no such program.
    """
    folders = [os.path.abspath(folder) for folder in arguments.project]
    for folder in folders:
        if not os.path.isdir(folder):
            raise GraphValueError(
                f"rebind numpy in the project {folder}", "no folder", "name a folder"
            )
    if arguments.module is not None:
        return _named_module(arguments.module, rest, folders)
    if arguments.program is None:
        raise GraphValueError("run a program", "none", "name a Python file, or -m and a module")
    return _script(arguments.program, rest, folders)


def _script(name: str, rest: list[str], folders: list[str]) -> tuple[ModuleType, CodeType]:
    file, folder = os.path.abspath(name), os.path.dirname(os.path.realpath(name))
    if os.path.isdir(name):
        file, folder = os.path.join(file, "__main__.py"), file
    try:
        source = sys.stdin.buffer.read() if name == "-" else Path(file).read_bytes()
        seen = "compiled code" if source.startswith(MAGIC_NUMBER) else ""
    except OSError as error:
        seen = error.strerror or str(error)
    if seen:
        remedy = "name a Python file, or -m and a module"
        raise GraphValueError(f"run the program {name}", seen, remedy)
    sys.argv[:] = [name, *rest]
    if name == "-":
        _set_first_folder("")
        rebind([*folders, os.getcwd()])
        return _main_module(), rebound_code(source, "<stdin>")
    _set_first_folder(folder)
    rebind([*folders, folder], file)
    loader = SourceFileLoader("__main__", file)
    return _main_module(__file__=file, __loader__=loader), rebound_code(source, file)


def _named_module(name: str, rest: list[str], folders: list[str]) -> tuple[ModuleType, CodeType]:
    sys.argv[:] = ["-m", *rest]
    _set_first_folder(os.getcwd())
    top = _spec(name.partition(".")[0], name)
    places = top.submodule_search_locations or [os.path.dirname(top.origin or "")]
    rebind([*folders, os.getcwd(), *map(os.path.abspath, places)])
    spec = _spec(name, name)
    if spec.submodule_search_locations is not None:
        spec = _spec(f"{name}.__main__", name)
    loader: Any = spec.loader
    code = loader.get_code(spec.name) if hasattr(loader, "get_code") else None
    if code is None:
        raise _no_module(name, "a module without Python code")
    sys.argv[0] = spec.origin or name
    module = _main_module(__spec__=spec, __loader__=loader, __package__=spec.parent)
    vars(module).update(__file__=spec.origin, __cached__=spec.cached)
    return module, code


def _spec(name: str, asked: str) -> ModuleSpec:
    """The spec of a module; its parent packages are imported, and their errors are not caught.

    Raises:
        GraphValueError: there is no such module.
    """
    if not all(part.isidentifier() for part in name.split(".")):
        raise _no_module(asked, "no name of a module")
    try:
        spec = find_spec(name)
    except ImportError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise
        spec = None
    except ValueError:  # a module without a spec is in its place
        spec = None
    if spec is None:
        raise _no_module(asked, f"no module {name}")
    return spec


def _no_module(name: str, seen: str) -> GraphValueError:
    remedy = "name a module that is found from this folder, or a Python file"
    return GraphValueError(f"run the module {name}", seen, remedy)


def _main_module(**names: object) -> ModuleType:
    module = ModuleType("__main__")
    vars(module).update(
        {"__builtins__": builtins, "__package__": None, "__cached__": None, **names}
    )
    return module


def _set_first_folder(folder: str) -> None:
    """Replace the first entry of `sys.path` by the program's folder."""
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _show_own_frames(error: BaseException) -> None:
    """Let the traceback of an uncaught error show only the program's frames."""
    hide_frames(error)
    own, before = error.__traceback__, sys.excepthook

    def hook(
        kind: type[BaseException], value: BaseException, traceback: TracebackType | None
    ) -> None:
        if value is error:
            traceback = value.__traceback__ = own
        before(kind, value, traceback)

    sys.excepthook = hook


def _report(stats: bool, explain: bool) -> None:
    """Print the counts of operations and the last segment; called at the end of the program."""
    explain_last = getattr(axiomjit, "explain_last", None)
    if explain and explain_last is not None:
        try:
            print(explain_last(), file=sys.stderr)
        except AxiomError as error:
            print(f"{PROGRAM_NAME}: {on_one_line(error)}", file=sys.stderr)
    if stats:
        at_once = getattr(sys.modules.get(DROP_IN), "ran_at_once", Counter[tuple[str, str]])()
        lines = [(name, str(count)) for name, count in axiomjit.stats().items()]
        lines += [(n, f"{count} at once: {why}") for (n, why), count in at_once.most_common()]
        print(*(f"{name:20} {text}" for name, text in lines), sep="\n", file=sys.stderr)
