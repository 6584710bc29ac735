"""Hooks that do what Python does: an instrumented function behaves as the original."""

import builtins
import functools
import operator
import sys
import types

from axiomjit.functions.loop_hooks import run_body
from axiomjit.functions.patterns import PatternHooks

BINARY = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "**": operator.pow, "@": operator.matmul},
    **{"<<": operator.lshift, ">>": operator.rshift},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor},
}
IN_PLACE = {
    **{"+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv},
    **{"//": operator.ifloordiv, "%": operator.imod, "**": operator.ipow, "@": operator.imatmul},
    **{"<<": operator.ilshift, ">>": operator.irshift},
    **{"&": operator.iand, "|": operator.ior, "^": operator.ixor},
}
COMPARE = {
    **{"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge},
    **{"==": operator.eq, "!=": operator.ne, "is": operator.is_, "is not": operator.is_not},
    "in": lambda a, b: a in b,
    "not in": lambda a, b: a not in b,
}
UNARY = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
CONVERSIONS = {-1: lambda v: v, ord("s"): str, ord("r"): repr, ord("a"): ascii}


class Globals:
    """Stores and deletions of globals."""

    def __init__(self, names):
        object.__setattr__(self, "_names", names)

    def __setattr__(self, name, value):
        self._names[name] = value

    def __delattr__(self, name):
        if name not in self._names:
            raise NameError(f"name {name!r} is not defined")
        del self._names[name]


class Cells:
    """Stores and deletions of free variables."""

    def __init__(self, cells):
        object.__setattr__(self, "_cells", cells)

    def __setattr__(self, name, value):
        self._cells[name].cell_contents = value

    def __delattr__(self, name):
        self._cells[name].cell_contents  # noqa: B018  raises if it is empty
        del self._cells[name].cell_contents


def _has_left(body, names):
    """True if a trip has ended its loop."""
    freevars = body.__code__.co_freevars
    return names[0] and body.__closure__[freevars.index(names[0])].cell_contents


def _items(kind, function, *rest):
    """The items of a loop."""
    if not kind:
        return function
    if kind == "range":
        return function(*rest)
    return function(*(_items(*one) if type(one) is tuple else one for one in rest))


class PlainHooks(PatternHooks):
    """Every hook, by Python's own operation."""

    def __init__(self, function):
        super().__init__(self)
        self._names = function.__globals__
        inside = self._names.get("__builtins__", builtins)
        self._builtins = inside if isinstance(inside, dict) else vars(inside)
        code = function.__code__
        self._cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        self.globals, self.cells = Globals(self._names), Cells(self._cells)
        self._kept = []
        self._made = []

    def name(self, name):
        for names in (self._names, self._builtins):
            if name in names:
                return names[name]
        raise NameError(f"name {name!r} is not defined")

    def repeat(self, body, name, names, function, *ends):
        self._passes(body, names, function(*ends))

    def each(self, body, names, source):
        self._passes(body, names, _items(*source))

    def loop(self, test, body, names):
        while run_body(test):
            run_body(body)
            if _has_left(body, names):
                break

    def _passes(self, body, names, items):
        for item in items:
            run_body(body, item)
            if _has_left(body, names):
                break

    def bound(self, read):
        try:
            read()
        except NameError:
            return False
        return True

    def required(self, truth):
        pass

    def walked(self, value):
        return self.iterate(value)

    def holds(self, value):
        return bool(value)

    def raises(self):
        return True

    def listed(self, body, source):
        self._made.append([])
        try:
            self.inner(body, source)
        finally:
            made = self._made.pop()
        return made

    def consumed(self, function, body, source, *rest, **named):
        items = iter(_items(*source))
        made = (one for item in items for one in self.listed(body, ("", (item,))))
        return function(made, *rest, **named)

    def inner(self, body, source):
        for item in _items(*source):
            run_body(body, item)

    def put(self, value):
        self._made[-1].append(value)

    def when(self, test, body):
        if test:
            body()

    def choice(self, test, then, otherwise):
        return then() if test else otherwise()

    def branch(self, then, otherwise, names, test):
        run_body(then if test else otherwise)

    def logical(self, is_and, *parts):
        for part in parts[:-1]:
            found = part()
            if bool(found) is not is_and:
                return not is_and
        return parts[-1]()

    def ordered(self, signs, *operands):
        left = operands[0]()
        for sign, operand in zip(signs, operands[1:], strict=True):
            right = operand()
            found = self.compare(sign, left, right)
            if sign is signs[-1] and operand is operands[-1]:
                return found
            if not found:
                return False
            left = right
        raise AssertionError

    def negated(self, value):
        return not value

    def cell(self, name):
        try:
            return self._cells[name].cell_contents
        except ValueError:
            text = f"cannot access free variable {name!r} where it is not associated with a value"
            raise NameError(text) from None

    def attribute(self, value, name):
        return getattr(value, name)

    def item(self, value, key):
        return value[key]

    def slice(self, start, stop, step):
        return slice(start, stop, step)

    def target(self, value):
        return value

    def call(self, function, /, *args, **kwargs):
        return function(*args, **kwargs)

    def method(self, value, method_name, /, *args, **kwargs):
        return getattr(value, method_name)(*args, **kwargs)

    def super(self, cls, first):
        return super(cls, first)

    def length(self, value):
        return len(value)

    def iterate(self, value):
        return iter(value)

    def spread(self, value):
        return iter(value)

    def key(self, value):
        return value

    def mapping(self, value):
        return value

    def unpack(self, value, count, star):
        return _unpacking(count, star)(value)

    def binary(self, op, left, right):
        return BINARY[op](left, right)

    def unary(self, op, value):
        return UNARY[op](value)

    def not_(self, value):
        return not value

    def compare(self, op, left, right):
        return COMPARE[op](left, right)

    def in_place(self, op, left, right):
        return IN_PLACE[op](left, right)

    def truth(self, value):
        return bool(value)

    def continues(self, value, is_and):
        if bool(value) is is_and:
            return True
        self._kept[:] = [value]
        return False

    def chain(self, op, left, right):
        result = COMPARE[op](left, right)
        goes_on = bool(result)
        self._kept[:] = [right if goes_on else result]
        return goes_on

    def kept(self):
        return self._kept.pop()

    def join(self, *parts):
        return "".join(parts)

    def format(self, value, conversion, spec):
        return format(CONVERSIONS[conversion](value), spec)

    def context(self, value):
        return value

    def caught(self):
        pass

    def import_(self, name, parts, level):
        if parts is None:
            return __import__(name, self._names, None, None, level)
        if not parts:
            value = __import__(name, self._names, None, None, level)
            for part in name.split(".")[1:]:
                value = _part(value, part)
            return value
        module = __import__(name, self._names, None, parts, level)
        return [_part(module, part) for part in parts]


@functools.cache
def _unpacking(count, star):
    """A function that unpacks a value as Python does, and returns the parts as one tuple."""
    names = [f"{'*' if place == star else ''}v{place}" for place in range(count)]
    parts = "".join(f"{name}, " for name in names)
    made = {}
    exec(f"def unpack(value):\n [{parts}] = value\n return ({parts})", made)
    return made["unpack"]


def _part(module, name):
    try:
        return getattr(module, name)
    except AttributeError:
        whole = f"{getattr(module, '__name__', '?')}.{name}"
        if whole in sys.modules:
            return sys.modules[whole]
        raise ImportError(f"cannot import name {name!r} from {module!r}") from None


def plain(function, hooks=PlainHooks):
    """The instrumented form of a function, with hooks that do what Python does."""
    from axiomjit.functions.instrument import instrumented

    assert isinstance(function, types.FunctionType)
    return instrumented(function).bind(hooks(function))
