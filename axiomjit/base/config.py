"""Settings, each read once from the environment and settable at run time.

| setting | variable | default | meaning |
|---|---|---|---|
| check | AXIOMJIT_CHECK | 0 | verify the IR after every pass, poison fresh memory, check views |
| bounds | AXIOMJIT_CHECK | 0 | compile kernels that check each access to memory |
| disable | AXIOMJIT_DISABLE | 0 | compile nothing, run in the NumPy evaluator |
| fallback | AXIOMJIT_FALLBACK | error | NumPy functions outside the table: error, warn, allow |
| outer | AXIOMJIT_OUTER | allow | operands without a common axis: allow, warn, error |
| pool_bytes | AXIOMJIT_POOL_BYTES | 2**28 | memory kept for further results; 0: none |
| show | AXIOMJIT_SHOW | nothing | forms and passes to print while a program is lowered |
| target | AXIOMJIT_TARGET | native | the CPU to compile for: this one ("native"), a level \
("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4") or a CPU as LLVM names it; not after a compile |
| seed | - | None | where random numbers start; None is somewhere else in each process |
"""

from __future__ import annotations

import os
from typing import Final

import numpy as np

from axiomjit.base.errors import GraphValueError
from axiomjit.base.target import choose_target, chosen_target, name_target

POOL_BYTES: Final = 2**28
POLICIES: Final = ("error", "warn", "allow")


class Config:
    """The settings of axiomjit; assigning an unknown name or value raises."""

    __slots__ = (
        "_fallback",
        "_generator",
        "_outer",
        "_pool_bytes",
        "_seed",
        "bounds",
        "check",
        "disable",
        "show",
        "was_disabled",
    )

    bounds: bool
    check: bool
    disable: bool
    was_disabled: bool
    """Whether the environment has said so: then the user is told once."""
    show: tuple[str, ...]
    _generator: np.random.Generator | None

    def __init__(self) -> None:
        """Read the environment."""
        self.check = self.bounds = os.environ.get("AXIOMJIT_CHECK", "0") not in ("", "0")
        self.disable = os.environ.get("AXIOMJIT_DISABLE", "0") not in ("", "0")
        self.was_disabled = self.disable
        self.fallback = os.environ.get("AXIOMJIT_FALLBACK", "error")
        self.outer = os.environ.get("AXIOMJIT_OUTER", "allow")
        asked = os.environ.get("AXIOMJIT_SHOW", "").split(",")
        self.show = tuple(name.strip() for name in asked if name.strip())
        kept = os.environ.get("AXIOMJIT_POOL_BYTES", "").strip()
        self.pool_bytes = int(kept) if kept.isdecimal() else POOL_BYTES
        name_target(os.environ.get("AXIOMJIT_TARGET", "native"))
        self.seed = None

    @property
    def fallback(self) -> str:
        """What happens to a function that uses NumPy functions which are not compiled.

        "error" raises, "warn" and "allow" run the whole function in NumPy.
        """
        return self._fallback

    @fallback.setter
    def fallback(self, policy: str) -> None:
        self._fallback = _checked("fallback", policy)

    @property
    def outer(self) -> str:
        """What happens to operands without a common axis: "allow", "warn" or "error"."""
        return self._outer

    @outer.setter
    def outer(self, policy: str) -> None:
        self._outer = _checked("outer", policy)

    @property
    def pool_bytes(self) -> int:
        """How many bytes of freed results are kept, so that further results lie there."""
        return self._pool_bytes

    @pool_bytes.setter
    def pool_bytes(self, most: int) -> None:
        if not isinstance(most, int) or not 0 <= most < 2**63:
            asked = f"config.pool_bytes = {most!r}"
            raise GraphValueError(asked, "no number of bytes", "give an int from 0 on")
        self._pool_bytes = most

    @property
    def target(self) -> str:
        """The CPU that kernels are compiled for (`axiomjit.base.target`); one for each process."""
        return chosen_target().name

    @target.setter
    def target(self, name: str) -> None:
        choose_target(name)

    @property
    def seed(self) -> int | None:
        """The seed of random numbers; assigning it starts them again."""
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


def _checked(setting: str, policy: str) -> str:
    if policy in POLICIES:
        return policy
    raise GraphValueError(
        f"config.{setting} = {policy!r}",
        "no such policy",
        f"one of {', '.join(map(repr, POLICIES))}",
    )


config: Final = Config()
