"""Harmless functions: functions that may get lazy arrays in place of NumPy arrays.

A harmless function returns equal results for lazy arrays and for NumPy arrays, and passes lazy
arrays to no unknown code. A harmless function calls only NumPy functions that lazy arrays override,
methods of arrays, texts and containers, functions of `math`, harmless builtins, and other harmless
functions of the user. A harmless function stores no values outside itself. The source text alone
decides whether a function is harmless, before the function runs; a function with an unknown
operation is not harmless.
"""

from __future__ import annotations

import ast
import builtins
import dis
import math
import string
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from inspect import CO_VARARGS, CO_VARKEYWORDS
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.records import Record
from axiomjit.functions.known_calls import CallKind, Kind, kind_of_call, kind_of_method
from axiomjit.functions.libraries import is_library, users_function
from axiomjit.functions.source_text import FAULTS, find_definition
from axiomjit.functions.sources import ATOMS

LEAST_OPERATIONS: Final = 3
DATUM: Final = "datum"
"""The mark of an outside value that may differ in each call: an array, or a value for which
`is_datum` is true.
"""


class Part(Record):
    """The outside names that a function reads, each with its object, or with the mark `DATUM`."""

    outside: Mapping[str, object]


class Harmless(Record):
    """The facts about a function that may get lazy arrays, and about the functions that it calls.

    `parts` has one `Part` per function, by code object. `writes` is true if one of the functions
    may write into an array. `operations` is the number of operators and elementwise functions in
    the texts of all functions.
    """

    parts: Mapping[CodeType, Part]
    writes: bool
    operations: int

    @property
    def has_much_to_fuse(self) -> bool:
        """True if the number of operations is large enough for lazy arrays to be faster."""
        return self.operations >= LEAST_OPERATIONS


class HarmfulError(Exception):
    """Raised for an operation that is not known to be harmless; the message names the operation."""


def harmless(function: object) -> Harmless | str:
    """The facts of a harmless function, or the first harmful operation that it contains."""
    walks: dict[CodeType, _Walk] = {}
    waiting = [function]
    try:
        while waiting:
            one = waiting.pop()
            if type(one) is not FunctionType:
                raise HarmfulError("is no plain function")
            if one.__code__ not in walks:
                walk = walks[one.__code__] = _Walk(one)
                waiting += walk.walked()
    except HarmfulError as error:
        return str(error)
    parts = {code: Part(walk.outside) for code, walk in walks.items()}
    found = walks.values()
    return Harmless(parts, any(walk.writes for walk in found), sum(walk.count for walk in found))


def is_datum(value: object) -> bool:
    """True for numbers, texts, dtypes and classes of numbers, and for tuples of such values."""
    kind = type(value)
    known: Any = value
    if kind is tuple or kind is frozenset:
        return all(map(is_datum, known))
    if kind is type:
        return _is_class(value)
    return kind in ATOMS or isinstance(value, np.dtype) or _is_number(value)


def _is_number(value: object) -> bool:
    kind = type(value)
    is_numpys = issubclass(kind, np.generic) and kind.__module__ == "numpy"
    return is_numpys and not issubclass(kind, np.void | np.object_)


def _is_class(value: Any) -> bool:
    return value in _CLASSES or issubclass(value, np.generic) or _is_exception(value)


def _is_exception(value: Any) -> bool:
    is_known = issubclass(value, BaseException) and is_library(value)
    return is_known or value is np.linalg.LinAlgError


def _refuse(seen: str) -> NoReturn:
    raise HarmfulError(seen)


class _Walk:
    """A walk over the text of a function that finds the first operation which may be harmful."""

    def __init__(self, function: FunctionType) -> None:
        """Read the text of a function.

        Raises:
            HarmfulError: no source text compiles to the code of the function.
        """
        self._function, code = function, function.__code__
        try:
            found = find_definition(code, function.__globals__)
        except FAULTS:
            found = None
        if found is None:
            _refuse("has no text")
        self._node = found.node
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
        self._parameters = code.co_varnames[:count]
        self._own = {*self._parameters, *_assigned(self._node)}
        self._containers = self._found_containers()
        self._loops: list[set[str]] = []
        self._called: list[FunctionType] = []
        self.outside: dict[str, object] = {}
        self.writes = False
        self.count = 0

    def walked(self) -> list[FunctionType]:
        """The user's functions that the function calls.

        Raises:
            HarmfulError: the function has an operation that is not known to be harmless.
        """
        if isinstance(self._node, ast.AsyncFunctionDef):
            _refuse("is a coroutine function")
        body = self._node.body
        self._all(body if isinstance(body, list) else [body])
        code = self._function.__code__
        unseen = {*code.co_freevars, *_names_read(code)} - self.outside.keys()
        if unseen:  # a name of a private attribute, or of rewritten text
            _refuse(f"uses {min(unseen)}, which its text does not show")
        return self._called

    def _found_containers(self) -> set[str]:
        """The local names to which the function assigns only displays of containers."""
        displays, stores = Counter[str](), Counter[str](self._parameters)
        for node in ast.walk(self._node):
            if isinstance(node, ast.Assign) and isinstance(node.value, _DISPLAYS):
                displays.update(one.id for one in node.targets if isinstance(one, ast.Name))
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stores[node.id] += 1
        return {name for name, count in displays.items() if count == stores[name]}

    # Nodes

    def _all(self, nodes: Iterable[ast.AST | None]) -> None:
        for node in nodes:
            if node is not None:
                self._visit(node)

    def _visit(self, node: ast.AST) -> None:
        self.count += isinstance(node, ast.BinOp | ast.AugAssign | ast.UnaryOp)
        way = _WAYS.get(type(node))
        if way is not None:
            way(self, node)
        elif isinstance(node, _PLAIN):
            self._all(ast.iter_child_nodes(node))
        else:
            _refuse(f"has a {type(node).__name__} in line {getattr(node, 'lineno', '?')}")

    def _name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load) and not self._is_own(node.id):
            value = self._look_up(node.id)
            if type(value) is not np.ndarray and not is_datum(value):
                _refuse(f"uses {node.id}")
            self._note(node.id, DATUM)

    def _attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load):
            _refuse(f"sets the attribute {node.attr}")
        found = self._in_module(node)
        if found is not _NOTHING:
            if not is_datum(found):
                _refuse(f"uses {ast.unparse(node)}")
            return
        is_limit = isinstance(node.value, ast.Call) and self._callee(node.value) in _LIMITS
        if node.attr not in _DATA and not (is_limit and not node.attr.startswith("_")):
            _refuse(f"reads the attribute {node.attr}")
        self._visit(node.value)

    def _subscript(self, node: ast.Subscript) -> None:
        self.writes |= isinstance(node.ctx, ast.Store)
        names = _names_in(node.slice)
        if any(names & counters for counters in self._loops):
            _refuse(f"walks over parts of an array in line {node.lineno}")
        self._all([node.value, node.slice])

    def _augmented(self, node: ast.AugAssign) -> None:
        self.writes = True
        self._all([node.target, node.value])

    def _annotated(self, node: ast.AnnAssign) -> None:
        self._all([node.target, node.value])

    def _compare(self, node: ast.Compare) -> None:
        for operator, right in zip(node.ops, node.comparators, strict=True):
            if isinstance(operator, ast.Is | ast.IsNot) and not isinstance(right, ast.Constant):
                _refuse("asks whether two objects are one")
        self._all([node.left, *node.comparators])

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            call = item.context_expr
            if not isinstance(call, ast.Call) or self._callee(call) is not np.errstate:
                _refuse(f"has a with statement in line {node.lineno}")
            self._all([*call.args, *(one.value for one in call.keywords)])
        self._all(node.body)

    # Loops

    def _for(self, node: ast.For) -> None:
        self._walked_over(node.iter)
        with self._loop(node.target, node.body, is_own=True):
            self._all(node.body)
        self._all(node.orelse)

    def _while(self, node: ast.While) -> None:
        self._loops.append(_counters(set(), node.body))
        self._all([node.test, *node.body])
        self._loops.pop()
        self._all(node.orelse)

    @contextmanager
    def _loop(self, target: ast.expr, body: list[ast.stmt], is_own: bool) -> Iterator[None]:
        """A context to visit the body of a loop, in which its targets and counters are known."""
        names = _names_in(target)
        before = self._own
        self._own = before | names
        self._loops.append(_counters(names, body))
        self._visit(target)
        yield
        self._loops.pop()
        self._own = self._own if is_own else before

    def _comprehension(self, node: Any) -> None:
        results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        self._generators(list(node.generators), results)

    def _generators(self, left: list[ast.comprehension], results: list[ast.expr]) -> None:
        if not left:
            self._all(results)
            return
        first, *rest = left
        if first.is_async:
            _refuse("has an asynchronous loop")
        self._walked_over(first.iter)
        with self._loop(first.target, [], is_own=False):
            self._all(first.ifs)
            self._generators(rest, results)

    def _iterable(self, node: ast.expr) -> None:
        """Visit the argument of a call that consumes an iterable at once; iterators are allowed."""
        if isinstance(node, ast.GeneratorExp):
            self._comprehension(node)
        elif isinstance(node, ast.Call):
            self._call(node, is_kept=False)
        else:
            self._visit(node)

    def _walked_over(self, node: ast.expr) -> None:
        """Visit the iterable of a loop; an array is refused, since its parts may be small."""
        if not self._is_container(node):
            _refuse(f"walks over parts of an array in line {node.lineno}")
        self._iterable(node)

    def _is_container(self, node: ast.expr) -> bool:
        """True for an expression whose value cannot be an array."""
        if isinstance(node, ast.Name):
            return node.id in self._containers
        if isinstance(node, ast.Attribute):
            return node.attr == "shape"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in _OF_CONTAINERS
        if isinstance(node, ast.Call):
            callee = self._callee(node)
            walked = node.args[:1] if callee is enumerate else node.args
            if callee in _ITERATORS and callee is not map:
                return all(map(self._is_container, walked))
            return callee in _CONTAINERS
        return isinstance(node, _DISPLAYS)

    def _starred(self, node: ast.Starred) -> None:
        self._iterable(node.value)

    # Calls

    def _kept_call(self, node: ast.Call) -> None:
        self._call(node, is_kept=True)

    def _call(self, node: ast.Call, is_kept: bool) -> None:
        callee = self._callee(node)
        arguments: list[ast.expr] = [*node.args, *(one.value for one in node.keywords)]
        named = {one.arg for one in node.keywords}
        if None in named:
            _refuse("passes arguments by names that are not in the text")
        if callee is _NOTHING:
            assert isinstance(node.func, ast.Attribute)
            name = node.func.attr
            if hasattr(np.ndarray, name):
                self._check_places(node, kind_of_method(np.ndarray, name), 1)
            self.writes |= name in _WRITING or "out" in named
            if is_kept and name in _VIEWS:
                _refuse(f"keeps what .{name}() gives")
            self._visit(node.func.value)
            consumes = name in _CONSUMING
        else:
            consumes = self._known(node, callee, is_kept, named)
        for one in arguments:
            self._iterable(one) if consumes else self._visit(one)

    def _known(self, node: ast.Call, callee: Any, is_kept: bool, named: set[str | None]) -> bool:
        """Check a called function; True if the function consumes iterators and keeps none."""
        self.count += isinstance(callee, np.ufunc)
        inner = followed(callee)
        if users_function(inner):
            self._called.append(inner)
            return False
        if callee in _ITERATORS:
            if is_kept:
                _refuse(f"keeps what {callee.__name__}() gives")
            return True
        if callee is print and "file" in named:
            _refuse("prints into a file")
        self.writes |= callee is np.copyto or "out" in named
        if callee not in _HARMLESS and not _is_class_or_numpys(callee):
            _refuse(f"calls {ast.unparse(node.func)}")
        if type(callee) is _NUMPY_FUNCTION and callee is not np.copyto:
            self._check_places(node, kind_of_call(callee), 0)
        return callee in _CONSUMERS

    def _check_places(self, node: ast.Call, kind: CallKind, first: int) -> None:
        """Refuse a positional argument that the call may write into."""
        places = [one.parameter.place for one in kind.writes]
        least = min([place - first for place in places if place], default=len(node.args))
        if len(node.args) > least or (
            places and any(isinstance(a, ast.Starred) for a in node.args)
        ):
            _refuse(f"gives {ast.unparse(node.func)} an array to write by its place")

    def _callee(self, node: ast.Call) -> Any:
        """The called function or class; `_NOTHING` for a harmless method of a value."""
        function = node.func
        if isinstance(function, ast.Name) and not self._is_own(function.id):
            found = self._look_up(function.id)
            self._note(function.id, found)
            return found
        if not isinstance(function, ast.Attribute):
            _refuse(f"calls {ast.unparse(function)}")
        found = self._in_module(function)
        is_known = function.attr in _METHODS and (
            function.attr != "format" or _has_plain_fields(function.value)
        )
        if found is _NOTHING and not is_known:
            _refuse(f"calls .{function.attr}()")
        return found

    # Names

    def _is_own(self, name: str) -> bool:
        return name in self._own

    def _look_up(self, name: str) -> Any:
        function = self._function
        found = outside_value(function, name)
        return _refuse(f"uses {name}, which is not there") if found is MISSING else found

    def _note(self, name: str, value: object) -> None:
        if self.outside.get(name, DATUM) is DATUM:
            self.outside[name] = value

    def _in_module(self, node: ast.Attribute) -> Any:
        """The object of an attribute of a known module or ufunc; `_NOTHING` for others."""
        names = [node.attr]
        inner = node.value
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name) or self._is_own(inner.id):
            return _NOTHING
        found = self._look_up(inner.id)
        if type(found) is not ModuleType:
            return _NOTHING
        self._note(inner.id, found)
        for name in reversed(names):
            is_fold = isinstance(found, np.ufunc) and name in ("reduce", "accumulate", "outer")
            if not (is_fold or (type(found) is ModuleType and found.__name__ in _MODULES)):
                _refuse(f"uses {ast.unparse(node)}")
            found = getattr(found, name, MISSING)
        return found


def _assigned(node: ast.AST) -> Iterator[str]:
    """The names that a function assigns, except the targets of comprehensions."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.comprehension):
            waiting += [one.iter, *one.ifs]
            continue
        waiting += ast.iter_child_nodes(one)
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            yield one.id
        if isinstance(one, ast.ExceptHandler) and one.name:
            yield one.name


def _has_plain_fields(node: ast.expr) -> bool:
    """True for a format text whose fields read no attribute and no entry of a value."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str)):
        return False
    try:
        fields = [field or "" for _, field, _, _ in string.Formatter().parse(node.value)]
    except ValueError:
        return False
    return not any("." in field or "[" in field for field in fields)


def _names_read(code: CodeType) -> Iterator[str]:
    """The outside names that a code object reads, with the names that nested code objects read."""
    for one in dis.get_instructions(code):
        if one.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield one.argval
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _names_read(part)


def _names_in(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _counters(names: set[str], body: list[ast.stmt]) -> set[str]:
    """The names of counters of a loop, and the names of numbers computed from counters."""
    found, assigned = set(names), list[tuple[set[str], set[str]]]()
    for node in (inner for one in body for inner in ast.walk(one)):
        if isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant):
            found |= _names_in(node.target) if isinstance(node.target, ast.Name) else set()
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            inside = list(ast.walk(node.value))
            read, made = _names_in(node.value), _names_in(node.targets[0])
            if any(isinstance(one, ast.Attribute | ast.Subscript) for one in inside):
                continue
            assigned.append((read, made))
            if read & made and any(isinstance(one, ast.Constant) for one in inside):
                found |= read & made
    while more := [made for read, made in assigned if read & found and not made <= found]:
        found = found.union(*more)
    return found


def _is_class_or_numpys(callee: Any) -> bool:
    """True for classes of numbers and errors, and for NumPy functions that lazy arrays override."""
    kind = type(callee)
    if kind is type:
        return _is_class(callee)
    owner = getattr(callee, "__self__", None)
    if isinstance(owner, np.ufunc):
        return kind_of_call(owner).kind is Kind.PURE
    if not isinstance(callee, np.ufunc) and kind is not _NUMPY_FUNCTION:
        return False
    return kind_of_call(callee).kind in (Kind.PURE, Kind.ASKS, Kind.REPLACED)


def followed(callee: Any) -> Any:
    """The Python function of a compiled callee; another callee is returned unchanged."""
    return getattr(callee, "_function", callee) if isinstance(callee, NativeCallable) else callee


def outside_value(function: FunctionType, name: str) -> Any:
    """The value of an outside name that a function reads; `MISSING` if the name has no value."""
    known: Any = function
    free = function.__code__.co_freevars
    if name in free:
        try:
            return known.__closure__[free.index(name)].cell_contents
        except ValueError:
            return MISSING
    found = function.__globals__.get(name, MISSING)
    return known.__builtins__.get(name, MISSING) if found is MISSING else found


def _words(owner: Any, text: str) -> list[Any]:
    return [getattr(owner, name) for name in text.split()]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


class _Hashless:
    """A set of objects compared by identity, because some objects have no hash."""

    def __init__(self, objects: Iterable[object]) -> None:
        self._objects = {id(one): one for one in objects}

    def __contains__(self, value: object) -> bool:
        return id(value) in self._objects


MISSING: Final = object()
_NOTHING: Final = object()
_NUMPY_FUNCTION: Final = type(np.sum)
_MODULES: Final = frozenset({"numpy", "numpy.linalg", "numpy.fft", "math", "cmath", "time"})
_CLASSES: Final = _Hashless(
    [*_words(builtins, "bool int float complex str list tuple dict set frozenset"), np.ndarray]
)
_ITERATORS: Final = _Hashless(_words(builtins, "zip map enumerate reversed"))
_CONSUMERS: Final = _Hashless(
    _words(builtins, "list tuple dict set frozenset sorted sum max min any all")
)
_CONTAINERS: Final = _Hashless(_words(builtins, "range list tuple dict set sorted"))
_OF_CONTAINERS: Final = frozenset({"items", "keys", "values", "tolist", "split", "splitlines"})
_DISPLAYS: Final = (
    *(ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp),
    *(ast.GeneratorExp, ast.Constant),
)
_LIMITS: Final = _Hashless([np.finfo, np.iinfo])
_HARMLESS: Final = _Hashless(
    [
        *_words(
            builtins, "abs all any ascii bin chr divmod format hash hex isinstance len max min"
        ),
        *_words(builtins, "oct ord pow print range repr round slice sorted sum"),
        *_words(builtins, "bool int float complex str list tuple dict set frozenset"),
        *_words(np, "array asarray asanyarray ascontiguousarray zeros ones full empty arange eye"),
        *_words(np, "identity linspace finfo iinfo dtype copyto isscalar result_type"),
        *_words(time, "time perf_counter monotonic process_time time_ns perf_counter_ns"),
        *(one for one in vars(math).values() if type(one) is BuiltinFunctionType),
    ]
)
"""Functions that accept lazy arrays like NumPy arrays, and keep no reference to arguments."""
_DATA: Final = _names(
    "shape dtype ndim size T mT real imag nbytes itemsize strides kind name char str"
)
"""Attributes of arrays, numbers and dtypes."""
_WRITING: Final = _names("fill sort put partition")
_VIEWS: Final = _names("keys values items")
_CONSUMING: Final = _names("join extend update")
_METHODS: Final = _names(
    """
    all any argmax argmin argpartition argsort astype choose clip compress conj conjugate copy
    cumprod cumsum diagonal dot fill flatten item max mean min nonzero partition prod ptp put ravel
    repeat reshape round searchsorted sort squeeze std sum swapaxes take tobytes tolist trace
    transpose var
    capitalize center count endswith find format index isdigit join ljust lower lstrip
    partition removeprefix removesuffix replace rfind rjust rsplit rstrip split splitlines
    startswith strip title upper zfill
    append clear extend insert pop remove reverse
    get items keys setdefault update values
    add difference discard intersection issubset issuperset union
    as_integer_ratio bit_count bit_length hex is_integer
    """
)
"""Methods of arrays, texts, containers and numbers that accept lazy arrays like NumPy arrays."""
_PLAIN: Final = (
    *(ast.Expr, ast.Return, ast.Assign, ast.Delete, ast.If, ast.Raise, ast.Try, ast.Assert),
    *(ast.ExceptHandler, ast.Pass, ast.Break, ast.Continue, ast.Constant, ast.JoinedStr),
    *(ast.FormattedValue, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.IfExp, ast.NamedExpr),
    *(ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Slice, ast.operator, ast.unaryop, ast.boolop),
    ast.expr_context,
)
"""The classes of syntax nodes that are harmless if all parts of the node are harmless."""
_WAYS: Final[Mapping[type, Callable[[_Walk, Any], None]]] = {
    ast.Name: _Walk._name,
    ast.Attribute: _Walk._attribute,
    ast.Subscript: _Walk._subscript,
    ast.AugAssign: _Walk._augmented,
    ast.AnnAssign: _Walk._annotated,
    ast.Compare: _Walk._compare,
    ast.With: _Walk._with,
    ast.For: _Walk._for,
    ast.While: _Walk._while,
    ast.Starred: _Walk._starred,
    ast.Call: _Walk._kept_call,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp), _Walk._comprehension),
}
"""The visitor of each class of syntax nodes; the classes in `_PLAIN` need no visitor."""
