"""Settings, each read once from the environment and settable at run time.

| setting | variable | default | meaning |
|---|---|---|---|
| check | AXIOMJIT_CHECK | 0 | verify IR after passes, poison memory, check views and traces |
| background | AXIOMJIT_BACKGROUND | 0 | NumPy answers calls while a thread compiles their kernels |
| bounds | AXIOMJIT_CHECK | 0 | compile kernels that check each access to memory |
| disable | AXIOMJIT_DISABLE | 0 | compile nothing, run in the NumPy evaluator |
| entry | AXIOMJIT_ENTRY | auto | how calls begin: auto (natively where that works), portable |
| fallback | AXIOMJIT_FALLBACK | warn | NumPy functions without a rule: step (a step of the \
program, where that is right), error, warn, allow |
| full_traceback | AXIOMJIT_FULL_TRACEBACK | 0 | tracebacks show axiomjit's own \
frames, too |
| lazy_from | AXIOMJIT_LAZY_FROM | 4096 | elements from which on arrays of \
`axiomjit.numpy` are lazy |
| outer | AXIOMJIT_OUTER | allow | operands without a common axis: allow, warn, error |
| passes_until | AXIOMJIT_PASSES_UNTIL | None | run the first n passes, and later ones only where \
every program needs them; None runs all |
| pool_bytes | AXIOMJIT_POOL_BYTES | 2**28 | memory kept for further results; 0: none |
| reread | AXIOMJIT_REREAD | auto | sources that later stages of a call with Dask arrays read: \
auto (computed again unless in memory), never (their blocks are kept), always |
| show | AXIOMJIT_SHOW | nothing | forms and passes to print while a program is lowered |
| target | AXIOMJIT_TARGET | native | the CPU to compile for: this one ("native"), a level \
("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") or a CPU as LLVM names it; not after a compile |
| cache_dir | AXIOMJIT_CACHE_DIR | None | folder of compiled kernels; None is a folder in the \
user's caches, "" is none: kernels stay in memory |
| cache_shared | AXIOMJIT_CACHE_SHARED | nothing | a second folder of kernels, only read |
| cache_mb | AXIOMJIT_CACHE_MB | 256 | megabytes of kernels on disk; 0: neither read nor written |
| cache_tag | AXIOMJIT_CACHE_TAG | nothing | kernels kept under another tag are not found |
| kernels | AXIOMJIT_KERNELS | 2000 | limit of compiled kernels in memory; the least recently \
used are evicted, and come back when they are run |
| worker_threads | AXIOMJIT_WORKER_THREADS | 1 | threads of each task of a call with Dask arrays |
| seed | - | None | where random numbers start; None is somewhere else in each process |
"""

from __future__ import annotations

import os
from array import array
from contextvars import ContextVar
from typing import Any, Final

import numpy as np

from axiomjit.base.caching import keep_alive
from axiomjit.base.errors import GraphValueError
from axiomjit.base.target import choose_target, chosen_target, name_target

POOL_BYTES: Final = 2**28
KERNELS: Final = 2000
LAZY_FROM: Final = 4096
POLICIES: Final = ("error", "warn", "allow")
FALLBACKS: Final = ("step", *POLICIES)
ENTRIES: Final = ("auto", "portable")
REREADS: Final = ("auto", "never", "always")
_SETTINGS: Final = array("q", [0])
"""The settings that compiled calls depend on, packed into one integer for the native entry."""


def settings_address() -> int:
    """The address of the packed settings."""
    return keep_alive(_SETTINGS).buffer_info()[0]


def packed_settings() -> int:
    """The packed settings: an integer with one bit for each setting in `_PACKED`."""
    return _SETTINGS[0]


class Config:
    """The settings of axiomjit; assigning an unknown name or value raises an error."""

    __slots__ = (
        *("_cache_mb", "_entry", "_fallback", "_generator", "_kernels", "_outer", "_passes_until"),
        *(
            "_pool_bytes",
            "_reread",
            "_seed",
            "_worker_threads",
            "background",
            "bounds",
            "cache_dir",
        ),
        "cache_shared",
        *("cache_tag", "check", "disable", "full_traceback", "lazy_from", "show"),
        "was_disabled",
    )

    background: bool
    bounds: bool
    cache_dir: str | None
    cache_shared: str
    cache_tag: str
    check: bool
    disable: bool
    full_traceback: bool
    lazy_from: int
    was_disabled: bool
    """True if an environment variable disabled axiomjit; the user is warned once."""
    show: tuple[str, ...]
    _generator: np.random.Generator | None

    def __init__(self) -> None:
        self.check = self.bounds = os.environ.get("AXIOMJIT_CHECK", "0") not in ("", "0")
        self.background = os.environ.get("AXIOMJIT_BACKGROUND", "0") not in ("", "0")
        self.disable = os.environ.get("AXIOMJIT_DISABLE", "0") not in ("", "0")
        self.full_traceback = os.environ.get("AXIOMJIT_FULL_TRACEBACK", "0") not in ("", "0")
        self.entry = os.environ.get("AXIOMJIT_ENTRY", "auto")
        self.was_disabled = self.disable
        self.fallback = os.environ.get("AXIOMJIT_FALLBACK", "warn")
        self.outer = os.environ.get("AXIOMJIT_OUTER", "allow")
        self.cache_dir = os.environ.get("AXIOMJIT_CACHE_DIR")
        self.cache_shared = os.environ.get("AXIOMJIT_CACHE_SHARED", "")
        self.cache_tag = os.environ.get("AXIOMJIT_CACHE_TAG", "")
        megabytes: Any = os.environ.get("AXIOMJIT_CACHE_MB", "256")
        self.cache_mb = int(megabytes) if megabytes.isdecimal() else megabytes
        most: Any = os.environ.get("AXIOMJIT_KERNELS", "").strip() or str(KERNELS)
        self.kernels = int(most) if most.isdecimal() else most
        asked = os.environ.get("AXIOMJIT_SHOW", "").split(",")
        self.show = tuple(name.strip() for name in asked if name.strip())
        lazy_from = os.environ.get("AXIOMJIT_LAZY_FROM", "").strip()
        self.lazy_from = int(lazy_from) if lazy_from.isdecimal() else LAZY_FROM
        until: Any = os.environ.get("AXIOMJIT_PASSES_UNTIL", "").strip() or None
        self.passes_until = int(until) if until is not None and until.isdecimal() else until
        kept = os.environ.get("AXIOMJIT_POOL_BYTES", "").strip()
        self.pool_bytes = int(kept) if kept.isdecimal() else POOL_BYTES
        self.reread = os.environ.get("AXIOMJIT_REREAD", "auto")
        count: Any = os.environ.get("AXIOMJIT_WORKER_THREADS", "1")
        self.worker_threads = int(count) if count.isdecimal() else count
        name_target(os.environ.get("AXIOMJIT_TARGET", "native"))
        self.seed = None

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if name in _PACKED:
            given = (getattr(self, setting, False) for setting in _PACKED)
            _SETTINGS[0] = sum((on in (True, "portable")) << k for k, on in enumerate(given))

    @property
    def portable(self) -> bool:
        """True if every call goes through Python, never through native code."""
        return self._entry == "portable"

    @property
    def entry(self) -> str:
        """How a call is looked up: "auto", in native code if possible, or "portable", in Python."""
        return self._entry

    @entry.setter
    def entry(self, way: str) -> None:
        self._entry = _checked("entry", way, ENTRIES)

    @property
    def fallback(self) -> str:
        """The policy for functions that use NumPy functions which are not compiled.

        A NumPy function that is not compiled runs as a step between compiled parts if the shapes
        and dtypes of its results can be inferred; only the policy "error" refuses such a function.
        If shapes or dtypes cannot be inferred, "step" raises an error, too; "warn" (the default)
        and "allow" run the whole function in NumPy.

        The policy holds for `axiomjit.numpy`, too: a function of lazy arrays that cannot be
        recorded is run by NumPy at once, and refused under "error". A segment that cannot be
        compiled is run by NumPy, with a warning under "warn".
        """
        return self._fallback

    @fallback.setter
    def fallback(self, policy: str) -> None:
        self._fallback = _checked("fallback", policy, FALLBACKS)

    @property
    def outer(self) -> str:
        """The policy for operands without a common axis: "allow", "warn" or "error"."""
        return self._outer

    @outer.setter
    def outer(self, policy: str) -> None:
        self._outer = _checked("outer", policy)

    @property
    def cache_mb(self) -> int:
        """The size limit of compiled kernels on disk, in megabytes; 0 disables the disk cache."""
        return self._cache_mb

    @cache_mb.setter
    def cache_mb(self, bound: int) -> None:
        if not isinstance(bound, int) or bound < 0:
            remedy = "a whole number of megabytes, 0 to keep kernels in memory only"
            raise GraphValueError(f"config.cache_mb = {bound!r}", "no such bound", remedy)
        self._cache_mb = bound

    @property
    def kernels(self) -> int:
        """The largest number of compiled kernels in memory, about 10 KB each."""
        return self._kernels

    @kernels.setter
    def kernels(self, most: int) -> None:
        if not isinstance(most, int) or most < 1:
            remedy = "a whole number from 1 on"
            raise GraphValueError(f"config.kernels = {most!r}", "no number of kernels", remedy)
        self._kernels = most

    @property
    def passes_until(self) -> int | None:
        """The number of passes that run; a later pass runs only if every program needs it."""
        return self._passes_until

    @passes_until.setter
    def passes_until(self, count: int | None) -> None:
        if count is not None and (not isinstance(count, int) or count < 0):
            remedy = "a whole number from 0 on, or None for all passes"
            raise GraphValueError(f"config.passes_until = {count!r}", "no number of passes", remedy)
        self._passes_until = count

    @property
    def pool_bytes(self) -> int:
        """The size limit of the freed buffers that are kept for further results, in bytes."""
        return self._pool_bytes

    @pool_bytes.setter
    def pool_bytes(self, most: int) -> None:
        if not isinstance(most, int) or not 0 <= most < 2**63:
            asked = f"config.pool_bytes = {most!r}"
            raise GraphValueError(asked, "no number of bytes", "give an int from 0 on")
        self._pool_bytes = most

    @property
    def reread(self) -> str:
        """The policy for sources that later stages of a call with Dask arrays read again.

        With "auto", Dask computes a source again for each later stage, and keeps no blocks for
        later stages; sources in memory are not computed again. With "always", Dask computes every
        source again. With "never", Dask keeps each block until the last task has read the block.
        """
        return self._reread

    @reread.setter
    def reread(self, policy: str) -> None:
        self._reread = _checked("reread", policy, REREADS)

    @property
    def worker_threads(self) -> int:
        """The number of threads that a task of a call with Dask arrays may use."""
        return self._worker_threads

    @worker_threads.setter
    def worker_threads(self, count: int) -> None:
        if not isinstance(count, int) or count < 1:
            asked = f"config.worker_threads = {count!r}"
            raise GraphValueError(asked, "no number of threads", "give a whole number from 1 on")
        self._worker_threads = count

    @property
    def target(self) -> str:
        """The CPU for which kernels are compiled (`axiomjit.base.target`); one CPU per process."""
        return chosen_target().name

    @target.setter
    def target(self, name: str) -> None:
        choose_target(name)

    @property
    def seed(self) -> int | None:
        """The seed of random numbers; assigning a seed restarts the generator."""
        return self._seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        if value is not None and (not isinstance(value, int) or value < 0):
            remedy = "an integer of 0 or more, or None"
            raise GraphValueError(f"config.seed = {value!r}", "no such start", remedy)
        self._seed, self._generator = value, None

    @property
    def generator(self) -> np.random.Generator:
        """The generator of random numbers."""
        if self._generator is None:
            self._generator = np.random.default_rng(self._seed)
        return self._generator


_PACKED: Final = ("bounds", "check", "disable", "_entry")
"""The settings in the packed integer; the setting `entry` is stored in the slot `_entry`."""


def _checked(setting: str, policy: str, known: tuple[str, ...] = POLICIES) -> str:
    if policy in known:
        return policy
    raise GraphValueError(
        f"config.{setting} = {policy!r}",
        "no such policy",
        f"one of {', '.join(map(repr, known))}",
    )


config: Final = Config()


def calls_wait() -> bool:
    """True if a call waits until the kernels that the call needs are compiled."""
    return not config.background or _waits.get()


class waiting:  # noqa: N801  # used as a function, in a with statement
    """A block in which calls wait for compilations, whatever `config.background` is."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _waits.set(True)

    def __exit__(self, *error: object) -> None:
        _waits.reset(self._token)


_waits: Final[ContextVar[bool]] = ContextVar("waits", default=False)
