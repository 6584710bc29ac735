"""Two worlds in which the same steps are taken: with lazy arrays, and in NumPy.

Steps are Python text over named arrays. Names that begin with `g` are NumPy arrays given from
outside, those with `e` were handed out; both are compared after each step, since nobody needs to
look at them. Values of the others are looked at where the sequence says so.
"""

import contextlib
import contextvars
import functools
import math
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from unittest.mock import patch

import numpy as np

import axiomjit.numpy
from axiomjit.base.config import config
from axiomjit.numpy import lazy_arrays, paths, quick, segments, temporaries
from axiomjit.numpy.handles import Handle
from tests.runtime.codegen.kernels import same_bits

VALUES = (3, 1, 2, 0, 5, -4, 7, 1, 6, -2, 4, 9, 8, -7, 2, 0)
FAR = {"f8": 1e-11, "f4": 1e-3, "c8": 1e-3, "f2": 0.05}
"""The relative distance of values that are taken for equal where sums or functions are rounded."""
LEFT_OUT = {"np", "wrap", "share", "made", "tell", "keep", "j", "k", "numpy"}


def made(code, shape, seed=0):
    """A new array whose elements depend on the arguments alone; some floats are no integers."""
    count = math.prod(shape)
    values = np.resize(np.roll(VALUES, seed), count)
    if np.dtype(code).kind in "fc":
        values = values + np.where(np.arange(count) % 5 == 3, 0.5 + seed, 0)
        values = values * (1 - 0.5j) if np.dtype(code).kind == "c" else values
    elif np.dtype(code).kind in "bu":
        values = np.abs(values) % (2 if code == "?" else 100)
    return np.array(values.astype(code).reshape(shape))


class World:
    """Named arrays, and the threads that take steps."""

    def __init__(self, is_lazy):
        self.is_lazy = is_lazy
        self.told = []
        self._pool = None
        np_of = axiomjit.numpy if is_lazy else np
        self.space = {
            **{
                "np": np_of,
                "numpy": np,
                "made": made,
                "tell": self.tell,
                "keep": [],
                "k": 0,
                "j": 0,
            },
            "wrap": lazy_arrays.wrap if is_lazy else lambda array: array,
            "share": _shared if is_lazy else lambda array: array[...],
        }

    def begin(self, number):
        """Forget all names; `k` is the number of this round."""
        for name in self.names():
            del self.space[name]
        self.space["keep"].clear()
        self.space |= {"k": number, "j": 0}

    def close(self):
        """Let the threads end."""
        self.begin(0)
        if self._pool is not None:
            self._pool.shutdown()

    def names(self):
        """The names that steps have bound."""
        return [name for name in self.space if name not in LEFT_OUT and name[0] != "_"]

    def values(self):
        """The arrays and others by name, those of the list `keep` as well."""
        kept = enumerate(self.space["keep"])
        return {n: self.space[n] for n in self.names()} | {f"keep[{n}]": v for n, v in kept}

    def tell(self, value):
        """Keep a copy of a value, which must be the same in both worlds."""
        self.told.append(_copied(value))

    def step(self, step):
        """Take a step in its thread; the type and text of the error that it raises, or None."""
        code = _code(step.text)
        if step.thread == "worker":
            self._pool = self._pool or ThreadPoolExecutor(1)
            context = contextvars.copy_context()
            return self._pool.submit(context.run, self._taken, code).result()
        if step.thread == "fresh":
            found = []
            context = contextvars.copy_context()
            thread = threading.Thread(target=lambda: found.append(context.run(self._taken, code)))
            thread.start()
            thread.join()
            return found[0]
        return self._taken(code)

    def _taken(self, code):
        try:
            exec(code, self.space)
        except Exception as error:
            return type(error).__name__, str(error)
        return None


@functools.lru_cache(5000)
def _code(text):
    return compile(text, "<step>", "exec")


def _shared(array):
    found = lazy_arrays.wrap(array, is_shared=True)
    return found[...] if found is array else found


def looked(value):
    """The value of a lazy array or number, others as they are."""
    return segments.look(value) if type(value) is axiomjit.numpy.ndarray else value


def _copied(value):
    if isinstance(value, list | tuple):
        return [_copied(one) for one in value]
    value = looked(value)
    return value.copy() if isinstance(value, np.ndarray) else value


@contextlib.contextmanager
def fresh_paths(lazy_from, most_statements):
    """Paths that nothing was recorded on, from a root that is given; which arrays are lazy.

    Memory counts as large from a few bytes on.
    """
    root, most_bytes = paths.State(None), 8 * most_statements
    with (
        patch.object(segments, "ROOT", root),
        patch.object(paths, "MAX_STATEMENTS", most_statements),
        patch.object(segments, "MAX_BYTES", most_bytes),
        patch.object(quick, "MAX_BYTES", most_bytes),
        patch.object(temporaries, "LEAST_BYTES", 0),
        patch.object(config, "lazy_from", lazy_from),
    ):
        segments.open_segment().finish()  # the next one begins at the new root
        try:
            yield root
        finally:
            segments.CURRENT.segment.is_open = False  # what is pending means nothing any more


def longest_path(state):
    """The most operations on a path behind a state."""
    known = [*state.edges.values(), *state.general.values()]
    behind = {id(one): one for one in known if one is not paths.CUT and one is not state}
    return max([state.depth, *map(longest_path, behind.values())])


class Comparison:
    """The facts in which two worlds must agree."""

    def __init__(self, plain, lazy, is_single, has_ties=False):
        """Of two worlds.

        Args:
            plain: The world of NumPy.
            lazy: The world of lazy arrays.
            is_single: True if there are floats of single precision.
            has_ties: True if zeros may have the other sign.
        """
        self.plain, self.lazy, self.has_ties = plain, lazy, has_ties
        self.scale = 1.0
        self.far = FAR["f4" if is_single else "f8"]

    def differs(self, far, is_looked_at):
        """The first difference of the worlds; None without one.

        Args:
            far: Names whose values are compared within rounding; `tell` for what was told.
            is_looked_at: Whether to look at the values of lazy arrays.
        """
        old, new = self.plain.values(), self.lazy.values()
        if old.keys() != new.keys():
            return f"names {sorted(new)}, not {sorted(old)}"
        found = self._told("tell" in far)
        for want in old.values():
            if isinstance(want, np.ndarray) and want.dtype.kind in "biufc":
                with np.errstate(all="ignore"):
                    finite = np.abs(want[np.isfinite(want)])
                    self.scale = max(self.scale, float(finite.max(initial=0)))
        for name, want in old.items():
            found = found or self._facts(name, want, new[name], name.partition("[")[0] in far)
            if found is None and (is_looked_at or type(new[name]) is np.ndarray):
                is_far = name.partition("[")[0] in far
                found = self._value(name, want, looked(new[name]), is_far)
        return found or self._relations(old, new, is_looked_at)

    def _told(self, is_far):
        old, new = self.plain.told, self.lazy.told
        if len(old) != len(new):
            return f"told {len(new)} values, not {len(old)}"
        found = None
        for want, got in zip(old, new, strict=True):
            found = found or self._value("told value", want, got, is_far)
        old.clear()
        new.clear()
        return found

    def _facts(self, name, want, got, is_far):
        if not isinstance(want, np.ndarray | np.generic):
            return None
        if not isinstance(got, np.ndarray | np.generic) or got.__class__ is not want.__class__:
            return f"{name} is of {got.__class__}, not {want.__class__}"
        if (got.dtype, got.shape) != (want.dtype, want.shape):
            return f"{name} is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
        long = [d for d, n in enumerate(want.shape) if n > 1 and want.size]
        # What our own functions make of repeated elements lies in memory as it suits them.
        if not is_far and [got.strides[d] for d in long] != [want.strides[d] for d in long]:
            return f"{name} has strides {got.strides}, not {want.strides}"
        if isinstance(got, Handle):
            array = got._array
            if array is not None and (array.dtype, array.shape) != (want.dtype, want.shape):
                return f"value of {name} is {array.dtype}{array.shape}"
            if array is not None and [array.strides[d] for d in long] != [
                got.strides[d] for d in long
            ]:
                return f"value of {name} has strides {array.strides}, not {got.strides}"
        return None

    def _value(self, name, want, got, is_far):
        if isinstance(want, list):
            if type(got) is not list or len(got) != len(want):
                return f"{name} is {got!r}, not {want!r}"
            pairs = zip(want, got, strict=True)
            found = (self._value(name, one, looked(other), is_far) for one, other in pairs)
            return next(filter(None, found), None)
        if not isinstance(want, np.ndarray | np.generic | float | complex):
            known = isinstance(want, int | str | type(None))
            return None if not known or want == got else f"{name} is {got!r}, not {want!r}"
        old, new = np.asarray(want), np.asarray(got)
        is_number = isinstance(want, complex) and isinstance(got, np.generic)
        if (
            not (type(got) is type(want) or is_number)
            or old.dtype != new.dtype
            or old.shape != new.shape
        ):
            return f"{name} is {got!r}, not {want!r}"
        if is_far and old.dtype.kind in "fc":
            with np.errstate(all="ignore"):
                far = max(self.far, FAR.get(old.dtype.str[1:], 0))
                finite = np.isfinite(old)
                if old.dtype.kind == "c" and np.array_equal(finite, np.isfinite(new)):
                    old, new = np.where(finite, old, 0), np.where(finite, new, 0)
                if np.allclose(new, old, far, far * self.scale, equal_nan=True):
                    return None
        elif same_bits(old, new) or (self.has_ties and np.array_equal(old, new, equal_nan=True)):
            return None
        return f"{name} is\n{got!r}\nnot\n{want!r}"

    def _relations(self, old, new, is_looked_at):
        """The first difference in identity or shared memory of two names; None without one."""
        arrays = [n for n, value in old.items() if isinstance(value, np.ndarray)]
        for one, other in combinations(arrays, 2):
            kinds = {type(new[n]) for n in (one, other)}
            if "e" not in (one[0], other[0]) and len(kinds) == 1:
                is_one = old[one] is old[other]
                if (new[one] is new[other]) != is_one:
                    return f"{one} is {other}: {not is_one}"
            if is_looked_at:
                want = np.shares_memory(old[one], old[other])
                if np.shares_memory(looked(new[one]), looked(new[other])) != want:
                    return f"{one} and {other} share memory: {not want}"
        return None
