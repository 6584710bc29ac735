"""Workloads: NumPy functions, their arguments, and their forms for other libraries."""

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
"""The placeholder for `numba.prange` in loops; the peers of Numba replace it."""


class Workload(Record):
    """A NumPy function that is a case of the suite.

    `inputs(rng)` makes the arguments. `numexpr` is the function as an expression for numexpr, with
    the names of the parameters. `einsum` are the subscripts if the function is a contraction of its
    arguments. `loops` is the function as loops over `prange`, if Numba rejects the NumPy function.
    A form for another library is empty or None if it does not exist. Cases of one `series` differ
    only in size.
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
        """Return the arguments, which depend on the seed and on the name of the case."""
        return tuple(self.inputs(np.random.default_rng([seed, zlib.crc32(self.name.encode())])))

    @property
    def text(self) -> str:
        """Return the body of the function on one line, without the docstring."""
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
        """Return the arguments, by the names of the parameters."""
        return dict(zip(inspect.signature(self.function).parameters, arguments, strict=False))


class Shelf(list[Workload]):
    """A list of workloads; the decorator `shelf.add(...)` adds a function."""

    def __init__(self, group: str = "") -> None:
        """Start empty; `group` is the group of all workloads of the shelf."""
        super().__init__()
        self.group = group

    def add(
        self, inputs: Inputs, *, sizes: Mapping[str, Inputs] | None = None, **more: Any
    ) -> Callable[[Function], Function]:
        """Add the decorated function by its name; with `sizes`, add a workload for each size."""

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
    """Return the function with other objects in place of some globals.

    Args:
        function: a Python function.
        replaced: the replacement of each object by its `id`, also in helpers of the function.
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
"""The group of the user's own functions."""


def own_workload(spec: str) -> Workload:
    """Return the workload of a user's function, whose name is `FILE.py:FUNCTION`.

    For a function `norm`, the file may define `norm_inputs()` or `norm_inputs(rng)`, which returns
    the arguments as a tuple; `rng` is a seeded `numpy.random.Generator`. Without `norm_inputs`, all
    parameters need defaults. The file may also define `norm_numexpr`, `norm_einsum` and
    `norm_loops` for other libraries.

    Raises:
        GraphValueError: the file or function does not exist, or the file raises an error when it
            runs.
        BenchError: a parameter has no argument, or `norm_inputs` or the function raises an error.
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
    _check_call(workload, needed)
    return workload


def _check_call(workload: Workload, needed: Sequence[str]) -> None:
    """Make the arguments and call the function once, to find errors before measurements."""
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
    """Return the size of the largest argument, and the dtypes of the arrays, as in "f8,i4"."""
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    kinds = dict.fromkeys(f"{a.dtype.kind}{a.dtype.itemsize}" for a in arrays)
    return max((a.size for a in arrays), default=1), ",".join(kinds) or "none"
