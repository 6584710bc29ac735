"""The rule of np.einsum, with specs such as `"ij,jk"`; dimensions of length 1 are broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_inexact
from axiomjit.base.errors import ShapeError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.spec_tokens import Token, refused, scan, split
from axiomjit.graph import builder
from axiomjit.graph.contractions import Projections, in_result_layout, sum_of_products
from axiomjit.graph.nodes import Node, Scalar, describe_length, describe_shape, is_view
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.numpy_rules.options import Rule, only_defaults
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import Affine, fixed, iterator

LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS: Final = "..."
Label = str | int
"""A letter, or a dimension of the ellipsis, counted from its end: -1 is the last dimension."""
_Written = list[tuple[str, int]]
"""The letters and ellipses of one operand, each with its position in the spec."""


def einsum_node(*operands: Any, optimize: object = None, **options: object) -> Node:
    """The rule of np.einsum; `optimize` is ignored, since a pass chooses the order of contraction.

    Raises:
        SpecError: the text of the spec is invalid.
        ShapeError: the operands do not fit the spec.
        UnsupportedError: an option other than `optimize` is set.
    """
    only_defaults("einsum", **options)
    spec, given = spec_and_operands(operands)
    nodes = [builder.strong(builder.as_node(value, "einsum")) for value in given]
    reader = SpecReader(spec, [node.shape for node in nodes])
    to = reader.projections()
    reads = list(zip(nodes, to.read, strict=True))
    made = in_result_layout(sum_of_products(reads, to.extents, to.rank), to)
    return _sum_of_one(made) if reader.sums and is_view(made) else made


def _sum_of_one(node: Node) -> Node:
    """A copy of the node in which 0.0 replaces -0.0, as in sums of a single element."""
    if not is_inexact(node.dtype):
        return builder.elementwise(COPY, node)
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return builder.elementwise(PRIMITIVES["add"], node, zero)


def spec_and_operands(given: Sequence[Any]) -> tuple[str, Sequence[Any]]:
    """The spec as text, and the operands, from one of NumPy's two forms of arguments.

    The second form is `einsum(x, [0, 1], y, [1, 2], [0, 2])`, with lists of numbers and Ellipsis.

    Raises:
        ShapeError: the arguments have neither of the two forms.
    """
    if given and isinstance(given[0], str):
        return given[0], given[1:]
    if len(given) < 2:
        raise _refused(given, "one argument that is no spec")
    odd = len(given) % 2
    pairs = given[: len(given) - odd]
    lists = [*pairs[1::2], *given[len(given) - odd :]]
    try:
        texts = [_letters(one) for one in lists]
    except (TypeError, ValueError, IndexError):
        raise _refused(given, "arguments that are no operands, each with a list") from None
    inputs = ",".join(texts[: len(pairs) // 2])
    return inputs + (f"->{texts[-1]}" if odd else ""), pairs[::2]


def _letters(listed: Sequence[object]) -> str:
    def one(entry: object) -> str:
        if entry is Ellipsis:
            return ELLIPSIS
        number = int(entry)  # type: ignore[call-overload]
        if number < 0:
            raise IndexError
        return LETTERS[number]

    return "".join(map(one, listed))


def _refused(given: Sequence[object], seen: str) -> ShapeError:
    remedy = "write einsum('ij,jk->ik', x, y), or einsum(x, [0, 1], y, [1, 2], [0, 2])"
    return ShapeError(f"einsum of {amount(len(given), 'argument')}", seen, remedy, user_location())


class SpecReader:
    """A parsed spec of np.einsum, and the index maps for operands with known shapes."""

    def __init__(self, spec: str, shapes: Sequence[tuple[Dim, ...]]) -> None:
        """Parse the spec, and check it against the shapes.

        Raises:
            SpecError: the text is not a spec; a caret marks the error.
            ShapeError: the operands do not fit the spec.
        """
        self.spec = spec
        self.shapes = shapes
        inputs, *output = split(scan(spec), "->", once=True)
        self.inputs = list(map(self._written, split(inputs, ",")))
        self.output = self._written(output[0]) if output else None
        if len(self.inputs) != len(shapes):
            raise ShapeError(
                f"einsum {spec!r}",
                f"{amount(len(shapes), 'operand')} for {len(self.inputs)} before '->'",
                "write the axes of each operand, separated by ','",
                user_location(),
            )
        self.extents: dict[Label, Dim] = {}
        self.labels = [self._labelled(k) for k in range(len(shapes))]

    def _written(self, tokens: Sequence[Token]) -> _Written:
        found: _Written = []
        for token in tokens:
            if token.kind == ELLIPSIS and any(name == ELLIPSIS for name, _ in found):
                raise refused(self.spec, token.start, "a second '...'", "write one per operand")
            if token.text.isspace():
                continue  # NumPy takes only this character for white space
            if token.kind != ELLIPSIS and token.text not in LETTERS:
                remedy = "write letters, ',', '...' and '->', or '=>' for label notation"
                raise refused(self.spec, token.start, f"{token.text[0]!r} there", remedy)
            found.append((token.text, token.start))
        return found

    def _labelled(self, k: int) -> list[Label]:
        """The label of each dimension of an operand; the lengths of labels are recorded."""
        written, shape = self.inputs[k], self.shapes[k]
        several = any(name == ELLIPSIS for name, _ in written)
        known = len(written) - several
        free = len(shape) - known
        if free < 0 or (free and not several):
            raise ShapeError(
                f"einsum {self.spec!r}",
                f"operand {k} of shape {describe_shape(shape)} for {amount(known, 'axis', 'axes')}",
                "write an axis for each dimension, in memory order, or '...' for the others",
                user_location(),
            )
        labels: list[Label] = []
        for name, _ in written:
            labels += range(-free, 0) if name == ELLIPSIS else [name]
        for label, length in zip(labels, shape, strict=True):
            self._note(label, length, k)
        return labels

    def _note(self, label: Label, length: Dim, k: int) -> None:
        known = self.extents.setdefault(label, length)
        if known is length or length == 1:
            return
        if known == 1:
            self.extents[label] = length
        elif not assumed_equal(known, length):
            name = f"axis {label!r}" if isinstance(label, str) else "the ellipsis"
            raise ShapeError(
                f"einsum {self.spec!r}",
                f"lengths {describe_length(known)} and {describe_length(length)} (operand {k}) "
                f"of {name}",
                "make them equal; a length of 1 stretches",
                user_location(),
            )

    def _result(self) -> list[Label]:
        """The labels of the result; without `->`, the labels that occur only once, in order."""
        several = sorted(label for label in self.extents if isinstance(label, int))
        if self.output is None:
            names = [name for one in self.inputs for name, _ in one if name != ELLIPSIS]
            return [*several, *sorted(name for name in names if names.count(name) == 1)]
        result: list[Label] = []
        for name, position in self.output:
            if name == ELLIPSIS:
                result += several
            elif name not in self.extents:
                seen = f"{name!r}, which no operand has"
                raise refused(self.spec, position, seen, "leave it out")
            elif name in result:
                remedy = f"write it once; label notation writes diagonals: {name}=>{name}{name}"
                raise refused(self.spec, position, f"{name!r} twice in the result", remedy)
            else:
                result.append(name)
        if several and all(name != ELLIPSIS for name, _ in self.output):
            end = len(self.spec)
            seen = f"{amount(len(several), 'dimension')} of '...', which the result does not have"
            raise refused(self.spec, end, seen, "write '...' in the result as well")
        return result

    @property
    def sums(self) -> bool:
        """True if a label of an operand is missing in the result, so that it is summed over."""
        return len(self._result()) < len(self.extents)

    def projections(self) -> Projections:
        """The index maps, with one iterator per label; the labels of the result come first."""
        result = self._result()
        places: dict[Label, Affine] = {}
        extents: list[Dim] = []
        for label in (*result, *self.extents):
            if label not in places:
                alone = self.extents[label].constant == 1
                places[label] = fixed(0) if alone else iterator(len(extents))
                extents += [] if alone else [self.extents[label]]
        read = tuple(
            tuple(
                self._read(label, length, places) for label, length in zip(own, shape, strict=True)
            )
            for own, shape in zip(self.labels, self.shapes, strict=True)
        )
        shape = tuple(self.extents[label] for label in result)
        written = tuple(places[label] for label in result)
        return Projections(tuple(extents), shape, written, read)

    def names(self) -> tuple[tuple[Label, ...], ...]:
        """The label of each dimension of the result, then of each operand."""
        return (tuple(self._result()), *map(tuple, self.labels))

    def _read(self, label: Label, length: Dim, places: dict[Label, Affine]) -> Affine:
        stretched = length is not self.extents[label] and length == 1
        return fixed(0) if stretched and self.extents[label] != 1 else places[label]


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {np.einsum: einsum_node}
