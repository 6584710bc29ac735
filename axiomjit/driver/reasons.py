"""Why functions were followed: what is new in a call, beside the calls that were known before."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.algebra.dims import Dim, Guard, Symbol
from axiomjit.base.records import Record
from axiomjit.base.stage_times import Clock, StageTimes
from axiomjit.driver.arguments import CallArguments
from axiomjit.driver.call_classes import Signature
from axiomjit.driver.static_keys import static_key
from axiomjit.graph.nodes import Input

MOST: Final = 64
"""Reasons that are kept for one function, and classes of calls that new ones are compared with."""
LONGEST: Final = 60
"""Characters of a static argument in a reason."""

_SHOWN: Final = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, type)

Aspects = tuple[tuple[str, object, str], ...]
"""What a program depends on in one argument: a word for it, what it is, and how that is shown."""


class CacheInfo(Record):
    """Calls answered by a ready plan, plans bound anew, and programs traced and lowered.

    `reasons` says of each trace what was new, the latest last and no more than 64: the argument
    that differs, and how, from the known call that is most like it. `times` are milliseconds by
    stage, of all that was compiled for the function, ahead and in the background too.
    """

    hits: int
    bound: int
    traced: int
    reasons: tuple[str, ...] = ()
    times: StageTimes = StageTimes()


class Reasons:
    """Why one function was followed so far, and what it took."""

    def __init__(self) -> None:
        """Nothing was followed yet."""
        self.clock = Clock()
        self.texts: deque[str] = deque(maxlen=MOST)
        self._known: deque[dict[str, Aspects]] = deque(maxlen=MOST)

    def add(
        self,
        aspects: dict[str, Aspects],
        programs: Sequence[Any] = (),
        were: int = 0,
        lengths: Mapping[Symbol, int] | None = None,
    ) -> None:
        """Add why a call needs a program.

        Args:
            aspects: What a program for it depends on.
            programs: Those of its class, which do not fit its lengths.
            were: How many of its class there were, with those that fit no call any more.
            lengths: The lengths of the call.
        """
        known = tuple(self._known)  # other threads add to it while these are compared
        if programs:
            self.texts.append(_looked_at(programs[-1].guards, lengths or {}))
        elif were:
            self.texts.append("captured array changed: it lies elsewhere, or otherwise")
        elif aspects in known:
            self.texts.append("known calls, whose program was dropped or could not be made")
        else:
            self.texts.append(_difference(aspects, known))
            self._known.append(aspects)

    def info(self, hits: int, bound: int, traced: int) -> CacheInfo:
        """These counts, why programs were made, and what that took."""
        return CacheInfo(hits, bound, traced, tuple(self.texts), self.clock.times())


def _difference(aspects: dict[str, Aspects], known: Sequence[dict[str, Aspects]]) -> str:
    """What differs least from a known call."""
    if not known:
        return "first call"
    least = min(reversed(known), key=lambda old: _distance(aspects, old))
    return "; ".join(_differences(aspects, least)) or "another order of arguments"


def _looked_at(guards: Sequence[Guard], lengths: Mapping[Symbol, int]) -> str:
    """Which look at lengths, by the function or a pass, ends otherwise for these."""
    for guard in guards:
        if not guard.holds(lengths):
            look = f"{guard.left} {guard.sign} {guard.right}"
            return f"lengths: {look} is {not guard.outcome}, was {guard.outcome}"
    return "lengths"


def _distance(new: dict[str, Aspects], old: dict[str, Aspects]) -> int:
    """How many aspects of two calls differ."""
    ours, theirs = (
        {(name, *aspect[:2]) for name, aspects in call.items() for aspect in aspects}
        for call in (new, old)
    )
    return len(ours ^ theirs)


def _differences(new: dict[str, Aspects], old: dict[str, Aspects]) -> Iterator[str]:
    """What is other in one call than in another one, one text for each argument."""
    for name in (*new, *(name for name in old if name not in new)):
        if name not in old or name not in new:
            yield f"{name}: {'given' if name in new else 'left out'}, was not before"
            continue
        before = {word: (value, shown) for word, value, shown in old[name]}
        for word, value, shown in new[name]:
            was = before.get(word)
            if was is None or was[0] != value:
                earlier = was[1] if was else old[name][0][2]
                other = f"{shown}, was {earlier}" if shown != earlier else f"{shown}, another one"
                yield f"{name}{word}{other}"
                break


def aspects_of(call: CallArguments, signature: Signature) -> dict[str, Aspects]:
    """What the program of a call of arrays and numbers depends on, by argument."""
    found: dict[str, Aspects] = {}
    for position, name in enumerate(call.names):
        given = signature.given[position]
        found[labelled_in(found, f"argument {name}")] = _aspects(
            given, signature.layouts.get(position), position in signature.scalars
        )
    return found | static_aspects(call)


def _aspects(given: Input | Dim, layout: tuple[Dim, ...] | None, is_scalar: bool) -> Aspects:
    if isinstance(given, Dim):
        return ((": ", int, "an int"),)
    if given.weak:
        kind = "a complex" if given.dtype.kind == "c" else "a float"
        return ((": ", kind, kind),)
    kind = "a NumPy scalar" if is_scalar else "an array"
    rank = len(given.extents)
    return (
        (": ", kind, kind),
        (": dtype ", given.dtype, str(given.dtype)),
        (": number of dimensions ", rank, str(rank)),
        (": shape class ", given.extents, _shown(given.extents)),
        (": layout class of strides ", layout, _shown(layout or ())),
    )


def static_aspects(call: CallArguments) -> dict[str, Aspects]:
    """What a program depends on in each static argument."""
    found: dict[str, Aspects] = {}
    for name, (_, value) in zip(call.static_names, call.static, strict=True):
        label = labelled_in(found, f"static argument {name}")
        found[label] = (("=", hash(static_key(value)), short_text(value)),)
    return found


def labelled_in(found: dict[str, Aspects], label: str) -> str:
    """The label of an argument, with a number where a container gives several."""
    if label not in found:
        return label
    number = sum(known == label or known.startswith(f"{label} [") for known in found)
    return f"{label} [{number}]"


def short_text(value: object) -> str:
    """How a value is shown in a reason."""
    if not isinstance(value, _SHOWN):
        return f"an instance of {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _shown(dims: Sequence[Dim]) -> str:
    inside = ", ".join(map(str, dims))
    return f"({inside},)" if len(dims) == 1 else f"({inside})"
