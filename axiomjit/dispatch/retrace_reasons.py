"""The reasons why a function was traced again: how a call differs from earlier calls."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np

from axiomjit.base.counters import Clock, StageTimes
from axiomjit.base.dtypes import is_complex
from axiomjit.base.errors import RetraceWarning
from axiomjit.base.origins import warn
from axiomjit.base.records import Record
from axiomjit.dispatch.arguments import CallArguments, static_key, whole_key
from axiomjit.dispatch.fallbacks import CallsInNumPy, InNumPy
from axiomjit.dispatch.signature import Signature
from axiomjit.graph.nodes import Input
from axiomjit.symbolic.dims import Dim, Guard, Symbol, pinned, symbols_in

MAX_REASONS: Final = 64
"""The largest number of stored reasons per function, and of earlier calls to compare with."""
MAX_TEXT: Final = 60
"""The largest number of characters of a static argument in a reason."""

WARN_AT: Final = 8
"""The number of programs for one cause at which a warning names the cause."""

_LENGTH_REMEDY: Final = (
    "compute with lengths as they are (x.size, len(x), x.shape; their arithmetic stays symbolic): "
    "int(), float(), range(), comparisons for equality and text of a length need its value"
)
_INTEGER_REMEDY: Final = (
    "pass it as a float or an array, where it takes part in arithmetic alone: int(), float(), "
    "range(), comparisons for equality and text of an integer need its value"
)
_REMEDIES: Final = {
    "=": (
        "value of",
        "pass what changes as an array or number that is not static; an object with other "
        "attributes in each call is another static value",
    ),
    ": axes ": ("axes of", "make axes once and use them in every call"),
}
"""For each aspect that may have any number of values, the words for the cause, and a remedy."""
_CAPTURED_CAUSE: Final = (
    "as an array from outside was replaced by another one",
    "pass the array as an argument",
)
_SHOWN: Final = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, type)

Aspects = tuple[tuple[str, object, str], ...]
"""The aspects of one argument on which a program depends, each as a word, a value and a text."""


Cause = tuple[str, str]
"""The cause of repeated traces, and a remedy for it."""
Difference = tuple[str, str, str]
"""The name of an argument, the word of the aspect that differs, and a text with both values."""


class CacheInfo(Record):
    """Counts of calls that a cached plan answered, of newly bound plans, and of traced programs.

    `reasons` explains the last 64 traces, the newest last: which argument differs from the most
    similar earlier call, and how. `times` has the milliseconds of each stage, summed over all
    compilations for the function, including compilations ahead of calls and in the background.
    `in_numpy` has the calls that NumPy ran, by cause; the cause of the last of these calls is the
    last entry.
    """

    hits: int
    bound: int
    traced: int
    reasons: tuple[str, ...] = ()
    times: StageTimes = StageTimes()
    in_numpy: tuple[InNumPy, ...] = ()


class RetraceReasons:
    """The reasons and the times of the traces of one function."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.texts: deque[str] = deque(maxlen=MAX_REASONS)
        self._known: deque[dict[str, Aspects]] = deque(maxlen=MAX_REASONS)
        self._causes: Counter[Cause] = Counter()
        self._warned = False

    def add(
        self,
        aspects: dict[str, Aspects],
        programs: Sequence[Any] = (),
        were: int = 0,
        lengths: Mapping[Symbol, int] | None = None,
        changed: str | None = None,
    ) -> None:
        """Add the reason why a call needs a new program.

        Args:
            aspects: The facts about the call on which its program depends.
            programs: The programs of the call's signature, none of which is valid for the lengths
                of the call.
            were: The number of programs of this signature, with stale programs.
            lengths: The lengths of the call.
            changed: The change outside the function, as text; None if there was none.
        """
        known = tuple(self._known)  # other threads append during the comparison
        causes: Sequence[Cause] = ()
        if changed is not None:
            self.texts.append(changed)
        elif programs:
            values = lengths or {}  # the values of outside numbers are not known
            guards = [
                g
                for g in programs[-1].guards
                if values.keys() >= symbols_in(g.left, g.right) and not g.holds(values)
            ]
            reads: Any = getattr(programs[-1], "reads", None)
            other = bool(reads) and bool(reads.guards.inputs) and not guards
            self.texts.append(_other_arrays(reads.names) if other else _guard_text(guards))
            causes = _pinned(guards, aspects)
        elif were:
            self.texts.append("captured array changed: it lies elsewhere, or otherwise")
            causes = (_CAPTURED_CAUSE,)
        elif aspects in known:
            self.texts.append("known calls, whose program was dropped or could not be made")
        else:
            differences = _least_differences(aspects, known)
            same = "another order of arguments" if known else "first call"
            self.texts.append("; ".join(text for _, _, text in differences) or same)
            self._known.append(aspects)
            causes = [_cause(name, w) for name, w, _ in differences if w in _REMEDIES]
        self._causes.update(causes)

    def warn_of_many(self, function: str) -> None:
        """Warn once if the function was traced many times for the same cause."""
        causes = tuple(self._causes.items())  # a copy, since other threads add causes
        (cause, remedy), count = max(causes, key=itemgetter(1), default=(("", ""), 0))
        if count < WARN_AT or self._warned:
            return
        self._warned = True
        warn(
            f"{function}: followed and compiled again {cause}, {count} times so far\n"
            f"  seen: {self.texts[-1]}\n"
            f"  instead: {remedy}; cache_info().reasons lists every time",
            RetraceWarning,
        )

    def info(self, hits: int, bound: int, traced: int, calls: CallsInNumPy) -> CacheInfo:
        """A `CacheInfo` with these counts, and with the reasons and times of traces."""
        texts, times = tuple(self.texts), self.clock.times()
        return CacheInfo(hits, bound, traced, texts, times, calls.all())


def _other_arrays(names: Sequence[str]) -> str:
    return f"array from outside changed: dtype, lengths or layout of {' or '.join(names)}"


def _least_differences(
    aspects: dict[str, Aspects], known: Sequence[dict[str, Aspects]]
) -> list[Difference]:
    """The differences between a call and the most similar earlier call."""
    if not known:
        return []
    least = min(reversed(known), key=lambda old: _distance(aspects, old))
    return list(_differences(aspects, least))


def _guard_text(guards: Sequence[Guard]) -> str:
    """The text of the first comparison of lengths whose outcome differs."""
    if not guards:
        return "lengths"
    guard = guards[0]
    look = f"{guard.left} {guard.sign} {guard.right}"
    return f"lengths: {look} is {not guard.outcome}, was {guard.outcome}"


def _pinned(guards: Sequence[Guard], aspects: dict[str, Aspects]) -> list[Cause]:
    """The causes for lengths that a program fixes, so that each value needs its own program."""
    symbols = symbols_in(*pinned(guards))
    return [_cause_of(one, aspects) for one in sorted(symbols, key=lambda s: s.name)]


def _cause(argument: str, word: str) -> Cause:
    what, remedy = _REMEDIES[word]
    return f"for each {what} {argument}", remedy


def _cause_of(symbol: Symbol, aspects: dict[str, Aspects]) -> Cause:
    """The cause for a symbol, which names the argument with this length or integer."""
    for label, parts in aspects.items():
        for _, value, _ in parts:
            if isinstance(value, Dim) and symbol in symbols_in(value):
                return f"for each value of the integer {label}", _INTEGER_REMEDY
            for d, one in enumerate(value if isinstance(value, tuple) else ()):
                if isinstance(one, Dim) and symbol in symbols_in(one):
                    found = f"the length {symbol.name} (dimension {d} of {label})"
                    return f"for each value of {found}", _LENGTH_REMEDY
    return f"for each value of the length {symbol.name}", _LENGTH_REMEDY


def _distance(new: dict[str, Aspects], old: dict[str, Aspects]) -> int:
    """The number of aspects in which two calls differ."""
    ours, theirs = (
        {(name, *aspect[:2]) for name, aspects in call.items() for aspect in aspects}
        for call in (new, old)
    )
    return len(ours ^ theirs)


def _differences(new: dict[str, Aspects], old: dict[str, Aspects]) -> Iterator[Difference]:
    """Yield the first difference of each argument between two calls."""
    for name in (*new, *(name for name in old if name not in new)):
        if name not in old or name not in new:
            given = "given" if name in new else "left out"
            yield name, given, f"{name}: {given}, was not before"
            continue
        before = {word: (value, shown) for word, value, shown in old[name]}
        for word, value, shown in new[name]:
            was = before.get(word)
            if was is None or was[0] != value:
                earlier = was[1] if was else old[name][0][2]
                other = f"{shown}, was {earlier}" if shown != earlier else f"{shown}, another one"
                yield name, word, f"{name}{word}{other}"
                break


def aspects_of(call: CallArguments, signature: Signature) -> dict[str, Aspects]:
    """For each argument of a call, the aspects on which the program of the call depends."""
    found: dict[str, Aspects] = {}
    for position, name in enumerate(call.names):
        given = signature.given[position]
        found[labelled_in(found, f"argument {name}")] = _aspects(
            given, signature.layouts.get(position), position in signature.scalars
        )
    if call.is_labelled:
        found["labels of arguments"] = (("=", hash(call.structure_key), "labels"),)
    return found | static_aspects(call)


def _aspects(given: Input | Dim, layout: tuple[Dim, ...] | None, is_scalar: bool) -> Aspects:
    if isinstance(given, Dim):
        return ((": ", int, "an int"), (" is ", given, str(given)))
    if given.weak:
        kind = "a complex" if is_complex(given.dtype) else "a float"
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
    """The aspects of each static argument on which a program depends."""
    found: dict[str, Aspects] = {}
    for name, (_, value) in zip(call.static_names, call.static, strict=True):
        label = labelled_in(found, f"static argument {name}")
        key = whole_key(value) if call.whole else static_key(value)
        found[label] = (("=", hash(key), short_text(value)),)
    return found


def labelled_in(found: dict[str, Aspects], label: str) -> str:
    """The label of an argument, with a number if several leaves have the same label."""
    if label not in found:
        return label
    number = sum(known == label or known.startswith(f"{label} [") for known in found)
    return f"{label} [{number}]"


def short_text(value: object) -> str:
    """The text of a value in a reason."""
    if not isinstance(value, _SHOWN):
        return f"an instance of {type(value).__name__}"
    text = repr(value)
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _shown(dims: Sequence[Dim]) -> str:
    inside = ", ".join(map(str, dims))
    return f"({inside},)" if len(dims) == 1 else f"({inside})"
