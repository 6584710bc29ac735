"""Convolutions as products of blocks of windows that stay in the cache.

The windows of a block are copied to the columns of a matrix; the product of the filter and this
matrix is a block of the result. The method of Chellapilla, Puri and Simard ("High performance
convolutional neural networks for document processing", 2006) copies all windows at once; here only
the windows of a block are copied.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np

from axiomjit.base.records import Record
from axiomjit.symbolic.index_maps import BoundCondition, Span, boxes, multiples_within

Array = np.ndarray
Labels = tuple[tuple[int, ...], ...]
BLOCK_BYTES: Final = 1 << 20
"""The size in bytes of a block of windows and its result, which fit into the level-2 cache."""
MIN_RUN: Final = 16
"""The smallest number of contiguous elements of a window that are copied together."""


class Parts(NamedTuple):
    """Work split into `number` independent parts; `compute(low, high)` computes a range of them."""

    number: int
    compute: Callable[[int, int], int]


def multiply_windows(
    operands: Sequence[Array],
    labels: Labels,
    out: Array,
    conditions: Sequence[BoundCondition] = (),
) -> None:
    """Write the sums of products into `out`, block by block."""
    parts = in_blocks(operands, labels, out, conditions)
    parts.compute(0, parts.number)


def in_blocks(
    operands: Sequence[Array],
    labels: Labels,
    out: Array,
    conditions: Sequence[BoundCondition] = (),
) -> Parts:
    """The parts that compute sums of products over the labels of both operands, one per block.

    The first operand has dimensions for the positions of windows and for the elements of a window.
    Where a condition does not hold, the elements of this operand are outside its memory. Each
    condition names at most one dimension of positions.
    """
    if not out.size or any(0 in operand.shape for operand in operands):
        out[...] = 0
        return Parts(0, lambda low, high: 0)
    if conditions and not np.isfinite(operands[1]).all():  # rare: everything is computed here
        _by_boxes(operands, labels, out, conditions)
        return Parts(0, lambda low, high: 0)
    blocks = _Blocks(operands, labels, out, conditions)
    return Parts(blocks.count, blocks.compute)


def _by_boxes(
    operands: Sequence[Array], labels: Labels, out: Array, conditions: Sequence[BoundCondition]
) -> None:
    """Write sums over points within conditions only, since a zero filler times infinity is NaN."""
    lengths = {
        k: n
        for own, operand in zip(labels, operands, strict=True)
        for k, n in zip(own, operand.shape, strict=True)
    }
    extents = [lengths[k] for k in sorted(lengths)]
    every = range(out.ndim)
    out[...] = 0
    for box in boxes(conditions, extents):
        parts: list[Any] = []
        for own, operand in zip(labels, operands, strict=True):
            parts += [operand[tuple(slice(*box[k]) for k in own)], list(own)]
        out[tuple(slice(*box[k]) for k in every)] += np.einsum(*parts, list(every), optimize=True)


class _Blocks:
    """A sum of products that is computed in blocks, which are ranges of window positions."""

    def __init__(
        self,
        operands: Sequence[Array],
        labels: Labels,
        out: Array,
        conditions: Sequence[BoundCondition],
    ) -> None:
        seen, kernel = operands
        own, others = labels
        strides = dict(zip(own, seen.strides, strict=True))
        inner = sorted((k for k in own if k in others), key=lambda k: -abs(strides[k]))
        rows = [k for k in range(out.ndim) if k in own]
        columns = [k for k in range(out.ndim) if k in others]
        self.rows, self.inner = rows, inner
        self.windows = seen.transpose([own.index(k) for k in (*rows, *inner)])
        self.out = out.transpose([*rows, *columns])
        self.depth = math.prod(self.windows.shape[len(rows) :])
        self.width = math.prod(self.out.shape[len(rows) :])
        order = [others.index(k) for k in (*columns, *inner)]
        self.kernel = kernel.transpose(order).reshape(self.width, self.depth)
        self.taps = self._taps(conditions)
        self.places_last = self._copies_rows(strides)
        self.places_inside = abs(out.strides[columns[-1]]) > abs(out.strides[rows[-1]])
        self.steps = self._steps()
        self.grid = [-(-n // s) for n, s in zip(self.windows.shape, self.steps, strict=False)]
        self.count = math.prod(self.grid)
        self.kept = threading.local()

    def _copies_rows(self, strides: dict[int, int]) -> bool:
        """True if elements are copied along window positions, False if along elements of a window.

        The copy follows the dimension with the smallest stride, unless that is a short dimension
        inside windows.
        """
        lengths = dict(zip((*self.rows, *self.inner), self.windows.shape, strict=True))
        walked = {k: abs(strides[k]) for k, n in lengths.items() if n > 1}
        closest = min(walked, key=lambda k: (walked[k], k), default=self.rows[-1])
        return closest in self.rows or lengths[closest] < MIN_RUN

    def _steps(self) -> list[int]:
        """The length of a block along each dimension of window positions."""
        lengths = self.windows.shape[: len(self.rows)]
        left = max(1, BLOCK_BYTES // ((self.depth + self.width) * self.out.itemsize))
        steps = []
        for length in reversed(lengths):
            parts = -(-length // min(left, length))
            steps.append(-(-length // parts))
            left = max(1, left // length)
        return steps[::-1]

    def _taps(self, conditions: Sequence[BoundCondition]) -> list[_Tap]:
        """The groups of window elements that every condition limits in the same way."""
        rows, inner = self.rows, self.inner
        extents = dict(zip((*rows, *inner), self.windows.shape, strict=True))
        named = {k for terms, _, _ in conditions for k, _ in terms}
        walked = [k for k in inner if k in named]
        taps = []
        for at in product(*(range(extents[k]) for k in walked)):
            place = dict(zip(walked, at, strict=True))
            spans = {k: (0, extents[k]) for k in rows}
            for condition in conditions:
                _narrow(spans, condition, place)
            limits = [(r, *spans[k]) for r, k in enumerate(rows) if spans[k] != (0, extents[k])]
            within = (..., *(place.get(k, slice(None)) for k in inner))
            taps.append(_Tap(within, self.windows[within], tuple(limits)))
        return taps

    def compute(self, low: int, high: int) -> int:
        """Compute a range of blocks; return 0 for success."""
        block, result = self._scratch()
        filled: _Block | None = None
        for number in range(low, high):
            spans = self._spans(number)
            places = tuple(end - start for start, end in spans)
            if filled is None or filled.places != places:
                filled = self._empty(block, places)
            filled.fill(self.taps, spans)
            found = result[: filled.columns.shape[1] * self.width]
            self._multiply(filled.columns, found, self.out[tuple(slice(*s) for s in spans)])
        return 0

    def _scratch(self) -> tuple[Array, Array]:
        """The memory of this thread for a block of windows and for its result."""
        scratch: tuple[Array, Array] | None = getattr(self.kept, "scratch", None)
        if scratch is None:
            size = math.prod(self.steps)
            sizes = size * self.depth, size * self.width
            first, second = (np.empty(n, self.out.dtype) for n in sizes)
            self.kept.scratch = scratch = first, second
        return scratch

    def _spans(self, number: int) -> list[Span]:
        """The range of a block along each dimension of window positions."""
        spans = []
        lengths = self.windows.shape[: len(self.rows)]
        for count, step, length in reversed([*zip(self.grid, self.steps, lengths, strict=True)]):
            number, at = divmod(number, count)
            spans.append((at * step, min(length, (at + 1) * step)))
        return spans[::-1]

    def _empty(self, block: Array, places: tuple[int, ...]) -> _Block:
        """The memory of a block with these numbers of positions, and views of it."""
        inner = self.windows.shape[len(places) :]
        count = math.prod(places)
        used = block[: count * self.depth]
        if self.places_last:
            whole = used.reshape(*inner, *places)
            axes = range(whole.ndim)
            whole = whole.transpose([*axes[len(inner) :], *axes[: len(inner)]])
            columns = used.reshape(self.depth, count)
        else:
            whole, columns = used.reshape(*places, *inner), used.reshape(count, self.depth).T
        return _Block(places, columns, [whole[tap.at] for tap in self.taps])

    def _multiply(self, columns: Array, found: Array, target: Array) -> None:
        """Write the product of the filter and the columns into the target."""
        shape, rows = target.shape, len(self.rows)
        if self.places_inside:
            np.dot(self.kernel, columns, out=found.reshape(self.width, -1))
            turned = [*range(len(shape) - rows, len(shape)), *range(len(shape) - rows)]
            target[...] = found.reshape(*shape[rows:], *shape[:rows]).transpose(turned)
        else:
            np.dot(columns.T, self.kernel.T, out=found.reshape(-1, self.width))
            target[...] = found.reshape(shape)


class _Tap(Record):
    """A group of elements of all windows; they are inside the operand at positions in `limits`."""

    at: tuple[Any, ...]
    source: Array
    limits: tuple[tuple[int, int, int], ...]


class _Block:
    """A block of windows; elements outside the operand remain zero from block to block."""

    def __init__(self, places: tuple[int, ...], columns: Array, targets: Sequence[Array]) -> None:
        self.places, self.columns, self.targets = places, columns, targets
        self.inside: list[object] = [None] * len(targets)

    def fill(self, taps: Sequence[_Tap], spans: Sequence[Span]) -> None:
        """Copy the windows at these positions into the block."""
        for k, (tap, target) in enumerate(zip(taps, self.targets, strict=True)):
            source_at = [slice(*span) for span in spans]
            target_at = [slice(None)] * len(spans)
            inside = []
            for row, start, end in tap.limits:
                low, high = spans[row]
                first = max(start, low)
                last = max(first, min(end, high))
                if (first, last) != (low, high):
                    source_at[row] = slice(first, last)
                    target_at[row] = slice(first - low, last - low)
                    inside.append((row, first - low, last - low))
            if inside and inside != self.inside[k]:
                target[...] = 0
            self.inside[k] = inside
            target[tuple(target_at)] = tap.source[tuple(source_at)]


def _narrow(spans: dict[int, Span], condition: BoundCondition, place: dict[int, int]) -> None:
    """Narrow the span of the label that has no position yet; a condition has one or none."""
    terms, low, high = condition
    rest = sum(c * place[k] for k, c in terms if k in place)
    free = [(k, c) for k, c in terms if k not in place]
    for k, c in free:
        first, stop = multiples_within(c, low - rest, high - rest)
        start = max(spans[k][0], first)
        spans[k] = start, max(start, min(spans[k][1], stop))
    if not free and not low <= rest < high:
        spans.update(dict.fromkeys(spans, (0, 0)))
