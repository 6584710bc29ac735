"""A workload: a plain NumPy function, its arguments, and its forms for other libraries."""

from __future__ import annotations

import ast
import inspect
import textwrap
import types
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.commands import load_function
from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
Inputs = Callable[[np.random.Generator], tuple[Any, ...]]

prange = range
"""The placeholder of `numba.prange` in loop forms; the Numba peers replace it."""


class Workload(Record):
    """A case before it is run.

    `inputs(rng)` makes the arguments. `numexpr` is the same expression for numexpr, over the names
    of the parameters; `einsum` the subscripts if the function is one contraction of its arguments;
    `loops` the same function as loops over `prange`, for Numba where it refuses the NumPy form.
    They are empty or None if there is none. Cases of one `series` differ in size only.
    """

    name: str
    group: str
    function: Function
    inputs: Inputs
    numexpr: str = ""
    einsum: str = ""
    loops: Function | None = None
    series: str = ""

    def arguments(self, seed: int) -> tuple[Any, ...]:
        """Return the arguments: the same for the same seed, different ones for each case."""
        return tuple(self.inputs(np.random.default_rng([seed, zlib.crc32(self.name.encode())])))

    @property
    def text(self) -> str:
        """Return the body of the function on one line, without its docstring."""
        try:
            source = textwrap.dedent(inspect.getsource(self.function))
            tree = ast.parse(source).body[0]
        except (OSError, TypeError, SyntaxError):
            return self.name
        if not isinstance(tree, ast.FunctionDef):
            return self.name
        body = tree.body[1:] if ast.get_docstring(tree) else tree.body
        lines = [" ".join(ast.unparse(statement).split()) for statement in body]
        return "; ".join(lines).removeprefix("return ").replace("; return ", "; ")

    def bindings(self, arguments: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by the names of the parameters."""
        return dict(zip(inspect.signature(self.function).parameters, arguments, strict=False))


class Shelf(list[Workload]):
    """Workloads in order; decorate a function with `shelf.add(...)` to add it."""

    def __init__(self, group: str = "") -> None:
        """Start empty; `group` is the group of all workloads added."""
        super().__init__()
        self.group = group

    def add(
        self, inputs: Inputs, *, sizes: Mapping[str, Inputs] | None = None, **more: Any
    ) -> Callable[[Function], Function]:
        """Add the decorated function under its name; with `sizes`, once per size, as a series."""

        def place(function: Function) -> Function:
            name = function.__name__
            if sizes is None:
                self.append(Workload(name, self.group, function, inputs, **more))
            for size, build in (sizes or {}).items():
                more["series"] = name
                self.append(Workload(f"{name}_{size}", self.group, function, build, **more))
            return function

        return place


def with_module(function: Function, replaced: Mapping[int, Any]) -> Function:
    """Return the function with objects replaced that it, or a helper of it, uses as globals.

    Args:
        function: a Python function.
        replaced: the replacement of each object, by `id`.
    """
    rebound: Function = _rebound(function, replaced, {})
    return rebound


def _rebound(function: Any, replaced: Mapping[int, Any], done: dict[int, Any]) -> Any:
    if not isinstance(function, types.FunctionType):
        return function
    if id(function) in done:
        return done[id(function)]
    space: dict[str, Any] = dict(function.__globals__)
    new = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, function.__closure__
    )
    new.__kwdefaults__, new.__qualname__ = function.__kwdefaults__, function.__qualname__
    new.__module__ = function.__module__
    done[id(function)] = new
    for name in function.__code__.co_names:
        value = space.get(name)
        if id(value) in replaced:
            space[name] = replaced[id(value)]
        elif isinstance(value, types.FunctionType) and value.__module__ == function.__module__:
            space[name] = _rebound(value, replaced, done)
    return new


OWN_GROUP: Final = "own"
"""The group of a user's own functions."""


def own_workload(spec: str) -> Workload:
    """Return the workload of a user's function, named as `FILE.py:FUNCTION`.

    Beside `norm` the file may define `norm_inputs()` or `norm_inputs(rng)`, which returns the
    arguments as a tuple (`rng` is a seeded `numpy.random.Generator`), and for the peers
    `norm_numexpr`, `norm_einsum` and `norm_loops`. Without `norm_inputs` all parameters need
    defaults.

    Raises:
        GraphValueError: the file or function does not exist, or running the file raises an error.
        BenchError: no arguments are given for a parameter, or `norm_inputs` does not work.
    """
    function: Function = inspect.unwrap(load_function(spec))
    name = spec.rpartition(":")[2]
    space = getattr(function, "__globals__", {})
    parameters = list(inspect.signature(function).parameters.values())
    needed = [p.name for p in parameters if p.default is p.empty]
    maker = space.get(f"{name}_inputs")
    if maker is None and needed:
        raise BenchError(
            f"measure {spec}",
            f"no arguments for {', '.join(needed)}",
            f"define {name}_inputs(rng) in the file, which returns ({', '.join(needed)},), or "
            "give every parameter a default",
        )

    def inputs(rng: np.random.Generator) -> tuple[Any, ...]:
        if maker is None:
            return tuple(p.default for p in parameters)
        made = maker(rng) if inspect.signature(maker).parameters else maker()
        return tuple(made) if isinstance(made, tuple | list) else (made,)

    workload = Workload(
        spec,
        OWN_GROUP,
        function,
        inputs,
        space.get(f"{name}_numexpr", ""),
        space.get(f"{name}_einsum", ""),
        space.get(f"{name}_loops"),
    )
    _try(workload, needed)
    return workload


def _try(workload: Workload, needed: Sequence[str]) -> None:
    """Make the arguments and call once, so that a mistake shows before anything is measured."""
    asked, doing = f"measure {workload.name}", "building its arguments"
    try:
        arguments, kept = workload.arguments(0), workload.arguments(0)
        doing = "the call in NumPy"
        with np.errstate(all="ignore"):
            workload.function(*arguments)
    except Exception as error:
        remedy = f"give arguments for {', '.join(needed) or 'its parameters'} that it can use"
        raise BenchError(asked, f"{doing}: {type(error).__name__}: {error}", remedy) from error
    for name, a, b in zip(workload.bindings(kept), arguments, kept, strict=False):
        if isinstance(a, np.ndarray) and a.tobytes() != b.tobytes():
            seen = f"{name} is not the same after a call, or in a second set of arguments"
            remedy = "write a function that leaves its arguments alone, and seed what is random"
            raise BenchError(asked, seen, remedy)


def facts(arguments: Sequence[Any]) -> tuple[int, str]:
    """Return the elements of the largest argument, and the dtypes of the arrays ("f8,i4")."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    kinds = dict.fromkeys(f"{a.dtype.kind}{a.dtype.itemsize}" for a in arrays)
    return max((a.size for a in arrays), default=1), ",".join(kinds) or "none"
