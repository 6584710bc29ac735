"""`axiomjit run program.py` or `-m module`: run a program whose `numpy` is `axiomjit.numpy`.

Only the modules of the program itself get `axiomjit.numpy`; other modules keep NumPy.
"""

from __future__ import annotations

import argparse
import ast
import atexit
import builtins
import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, find_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any, Final

import axiomjit
from axiomjit.base.commands import OK, USAGE, on_one_line
from axiomjit.base.errors import AxiomError, GraphValueError
from axiomjit.base.origins import hide_frames
from axiomjit.functions.numpy_imports import DROP_IN, rebind_imports

PROGRAM: Final = "_axiomjit_program"
"""The module name under which spawned processes import the program's file."""
SPAWN: Final = "multiprocessing.spawn"
INSTALLED: Final = {"site-packages", "dist-packages"}
STANDARD: Final = os.path.join(os.path.dirname(os.__file__), "")


def rebound_code(source: bytes, file: str) -> CodeType:
    """Compile a module whose imports of NumPy import `axiomjit.numpy`; line numbers are kept.

    Raises:
        SyntaxError, ValueError: the source cannot be compiled.
    """
    tree = ast.parse(source, file)
    if b"numpy" in source:
        rebind_imports(tree)
    code: CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


def rebind(folders: Sequence[str], program: str = "") -> None:
    """Rebind NumPy in modules of these folders from now on, also in spawned processes.

    Args:
        folders: Absolute paths; Python's library, and packages that are installed below these
            paths, keep NumPy.
        program: The file that runs as `__main__`; empty if no file does.
    """
    finder = _Finder(folders, program)
    sys.meta_path.insert(0, finder)
    if SPAWN in sys.modules:
        finder.rebind_spawned(sys.modules[SPAWN])


class _Finder:
    """An import finder that asks later finders and gives the program's modules another loader."""

    def __init__(self, folders: Sequence[str], program: str) -> None:
        self.folders = tuple(folders)
        self.program = program

    def __reduce__(self) -> tuple[Callable[..., None], tuple[object, ...]]:
        """Unpickling in a spawned process rebinds NumPy there."""
        return rebind, (self.folders, self.program)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module; None if no finder knows the module."""
        if name == PROGRAM and self.program:
            loader = SourceFileLoader(name, self.program)
            return self._rebound(spec_from_file_location(name, self.program, loader=loader))
        rest = sys.meta_path[sys.meta_path.index(self) + 1 :]
        specs = (finder.find_spec(name, path, target) for finder in rest)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and name == SPAWN and type(spec.loader) is SourceFileLoader:
            spec.loader = _SpawnLoader(name, spec.loader.path, self)
        return self._rebound(spec)

    def _rebound(self, spec: ModuleSpec | None) -> ModuleSpec | None:
        """The spec, with a rebinding loader for a module of the program that uses NumPy."""
        if spec is None or type(spec.loader) is not SourceFileLoader or not self._is_own(spec):
            return spec
        loader = spec.loader
        try:
            source = loader.get_data(loader.path)
            if b"numpy" in source:
                code = rebound_code(source, loader.path)
                spec.loader = _RebindingLoader(loader.name, loader.path, code)
        except (OSError, SyntaxError, ValueError, RecursionError):
            pass  # raised again by Python's own loader, without a frame of ours
        return spec

    def _is_own(self, spec: ModuleSpec) -> bool:
        """True for a module of the program itself."""
        file = os.path.abspath(spec.origin or "")
        if spec.name.partition(".")[0] in ("axiomjit", "numpy") or file.startswith(STANDARD):
            return False
        if not INSTALLED.isdisjoint(file.split(os.sep)):
            return False
        return any(file.startswith(os.path.join(folder, "")) for folder in self.folders)

    def rebind_spawned(self, spawn: Any) -> None:
        """Let `multiprocessing.spawn` rebind NumPy in the processes that it starts."""
        prepare = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, object]:
            data = {"axiomjit": self, **prepare(name)}  # first, so that it is unpickled first
            if self.program and data.get("init_main_from_path") == self.program:
                del data["init_main_from_path"]  # Python would run the file without our loader
                data["init_main_from_name"] = PROGRAM
            return data

        spawn.get_preparation_data = get_preparation_data


class _RebindingLoader(SourceFileLoader):
    """A loader with rebound code, which is never written to `__pycache__`."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        """The rebound code, whatever name is given."""
        return self._code


class _SpawnLoader(SourceFileLoader):
    """A loader of `multiprocessing.spawn` after which spawned processes rebind NumPy, too."""

    def __init__(self, name: str, path: str, finder: _Finder) -> None:
        super().__init__(name, path)
        self._finder = finder

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then let the module rebind NumPy in spawned processes."""
        super().exec_module(module)
        self._finder.rebind_spawned(module)


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
    """Split a command line into the command's options with the program, and the program's own."""
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
