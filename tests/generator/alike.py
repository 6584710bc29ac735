"""Whether two worlds of objects are alike: values, types, and which of them are one object."""

import contextlib
import contextvars
import functools
import io
import itertools
import types
from collections import deque

import numpy as np

from axiomjit.dispatch.jit import Jitted

FAR = 1e-9
"""The relative distance of floats that are taken for equal: sums are added in another order."""
PLAIN = (type(None), bool, int, str, bytes, bytearray, range, slice, type(Ellipsis), np.dtype)
UNSEEN = (types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType, np.ufunc)


class Comparison:
    """A walk over two worlds at once.

    Objects that were met together must be met together everywhere, so that what is one object in
    one world is one in the other.
    """

    def __init__(self, module, far=FAR):
        """Classes and functions of the module of this name are looked into, no others."""
        self.module, self.far = module, far
        self.met = {}
        self.alive = []

    def differs(self, one, other, path):
        """Where two objects differ and how, as text; None where they are alike."""
        if type(one) is not type(other) and Jitted in (type(one), type(other)):
            calls = (getattr(value, "calls", None) for value in (one, other))
            one, other = map(_unwrapped, (one, other))
            if found := self.differs(*calls, f"{path}.calls"):
                return found
        if type(one) is not type(other) and not both_of(self.module, type(one), type(other)):
            return f"{path} is {_shown(one)}, not {_shown(other)}"
        if isinstance(one, PLAIN):
            return None if one == other else f"{path} is {one!r}, not {other!r}"
        if isinstance(one, float | complex | np.generic):
            return self._arrays(np.asarray(one), np.asarray(other), path)
        if id(one) in self.met or id(other) in self.met:
            known = self.met.get(id(one)) == id(other) and self.met.get(id(other)) == id(one)
            return None if known else f"{path} is another object: {_shown(one)}"
        self.met[id(one)], self.met[id(other)] = id(other), id(one)
        self.alive.append((one, other))
        return self._parts(one, other, path)

    def _parts(self, one, other, path):
        if isinstance(one, np.ndarray):
            return self._arrays(one, other, path)
        if isinstance(one, UNSEEN):
            return None
        if isinstance(one, list | tuple | deque):
            return self._sequences(one, other, path)
        if isinstance(one, set | frozenset):
            return self._sequences(sorted(one, key=repr), sorted(other, key=repr), path)
        if isinstance(one, dict):
            found = self._sequences(list(one), list(other), f"keys of {path}")
            pairs = zip(one, one.values(), other.values(), strict=False)
            return found or self._first((a, b, f"{path}[{key!r}]") for key, a, b in pairs)
        state = _state(one), _state(other)
        if state[0] is not None:
            return self.differs(*state, f"state of {path}")
        if isinstance(one, type) and one.__module__ != self.module:
            return None
        names = _attributes(one), _attributes(other)
        return self._first((a, names[1].get(n), f"{path}.{n}") for n, a in names[0].items()) or (
            None if len(names[0]) == len(names[1]) else f"{path} has attributes {names[0].keys()}"
        )

    def _first(self, pairs):
        """The first difference among pairs with their paths."""
        return next(filter(None, (self.differs(*pair) for pair in pairs)), None)

    def _sequences(self, one, other, path):
        if len(one) != len(other):
            return f"{path} has {len(one)} entries, not {len(other)}"
        pairs = enumerate(zip(one, other, strict=True))
        return self._first((a, b, f"{path}[{k}]") for k, (a, b) in pairs)

    def _arrays(self, one, other, path):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{path} is {one.dtype}{one.shape}, not {other.dtype}{other.shape}"
        if one.dtype.kind == "O":
            return self._sequences(list(one.flat), list(other.flat), path)
        inexact = one.dtype.kind in "fc"
        far = (
            max(self.far, 8 * np.finfo(one.dtype).eps) if inexact else 0
        )  # sums have orders of ours
        close = functools.partial(np.allclose, rtol=far, atol=far) if inexact else np.array_equal
        if close(one, other, **({"equal_nan": True} if inexact else {})):
            return None
        with np.printoptions(threshold=20):
            return f"{path} is\n{one!r}\nnot\n{other!r}"


def _unwrapped(value):
    return value._function if isinstance(value, Jitted) else value


def both_of(module, *kinds):
    """Whether classes are those of one name of the two worlds."""
    return all(k.__module__ == module for k in kinds) and kinds[0].__name__ == kinds[1].__name__


def _shown(value):
    return f"{type(value).__name__} {str(value)[:60]}"


def _state(value):
    """What an object without attributes of its own holds; None for others."""
    match value:
        case np.random.Generator():
            return value.bit_generator.state
        case np.random.RandomState():
            return value.get_state(legacy=False)
        case types.GeneratorType():
            frame = value.gi_frame
            return frame and (frame.f_lasti, dict(frame.f_locals))
        case itertools.count():
            return repr(value)
        case itertools.cycle():
            _, (rest,), (saved, _) = value.__reduce__()
            return rest.__length_hint__(), saved
        case io.StringIO():
            return value.getvalue()
        case contextvars.ContextVar():
            return [value.get()]
        case types.CellType():
            with contextlib.suppress(ValueError):  # it is empty
                return [value.cell_contents]
            return []
        case types.FunctionType():
            own = {name: part for name, part in vars(value).items() if name != "calls"}
            return value.__name__, value.__closure__, value.__defaults__, own
        case functools.partial():
            return value.func, value.args, value.keywords
        case BaseException():
            return value.args
        case types.MethodType():
            return value.__self__, value.__func__
    kind = type(value)  # an instance may answer any name
    if hasattr(kind, "getrandbits"):
        return value.getstate()
    return value.__length_hint__() if hasattr(kind, "__length_hint__") else None


def _attributes(value):
    """The attributes of an instance or of a class, those that Python makes apart."""
    found = dict(getattr(value, "__dict__", {}))
    for base in type(value).__mro__:
        names = vars(base).get("__slots__", ())
        found |= {name: getattr(value, name) for name in names if hasattr(value, name)}
    kept = (property, classmethod, staticmethod, functools.cached_property)
    return {
        name: part
        for name, part in sorted(found.items())
        if not name.startswith("__") and not isinstance(part, kept)
    }
