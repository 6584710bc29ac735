"""Sums of products and other folds by specs, and concatenations (OCANNL shapes)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from axiomjit.accumulate.accumulator import Accumulator
from axiomjit.base.bounded_tables import LARGEST
from axiomjit.base.errors import GraphTypeError, ShapeError, SpecError
from axiomjit.base.origins import user_location
from axiomjit.notation.calls import ArrayCall, Call, computed
from axiomjit.notation.parser import parse_einsum
from axiomjit.notation.products import checked_meaning
from axiomjit.notation.sizes import Size
from axiomjit.notation.specs import Concat, EinsumSpec
from axiomjit.notation.templates import SizeOf
from axiomjit.numpy_table.einsum import spec_and_operands

Sizes = Mapping[str, SizeOf]


def einsum(
    spec: Any,
    *operands: Any,
    combine: str = "mul",
    reduce: str | Accumulator = "sum",
    sizes: Sizes | None = None,
    capture: Sequence[Size] | None = None,
    use_padding: bool = False,
    broadcast: bool = False,
) -> Any:
    """Operands combined where their labels meet, reduced over labels that the result lacks.

    A spec with `=>` is label notation: `"b|i->o;b|j->i=>b|j->o"`, operands separated by `;`. Any
    other is NumPy's, `"ij,jk->ik"`, and has NumPy's meaning; also NumPy's lists of numbers are
    taken. The dimensions of arrays and the axes of axis tensors are taken in memory order: batch,
    output, input. In label notation nothing stretches, elements outside of an operand contribute
    nothing, and elements of the result that no label reaches are neutral.

    Args:
        spec: The spec.
        operands: Arrays, traced arrays in a compiled function, axis tensors, or tensors with a
            shape; arrays may stand beside each of them but axis tensors.
        combine: "mul", "add", "sub" or "div", from left to right, or "where" of three operands.
        reduce: "sum", "max", "min", "prod", "mean", "logsumexp", or an Accumulator, whose elements
            come in the order in which labels appear first: result, then operands.
        sizes: Sizes of labels; of row variables the number of elements, or a list of sizes.
        capture: Sizes that are bound to the labels and row variables of their names.
        use_padding: Whether windows written with a plain `+` may reach outside.
        broadcast: Whether the axes of a row variable of several operands stretch, as those of
            NumPy's ellipsis do.

    Returns:
        What the operands are, fresh: an array, traced array, axis tensor (with the axes of the
        first operands that have them), or tensor with a shape. The dtype is the operands' common
        one, of integers as well; floats for mean and logsumexp.

    Raises:
        SpecError: the spec cannot be read; a caret stands below the place.
        ShapeError: the operands do not fit the spec.
        GraphValueError: `combine` or `reduce` is no such name, or the largest of nothing.
        GraphTypeError: kinds of operands that do not go together.

    Examples:
        >>> x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
        >>> aj.einsum("ij,j->i", x, y)
        array([ 5., 14.])
        >>> aj.einsum("ij;j=>i", x, y, combine="add", reduce="max")
        array([4., 7.])
        >>> aj.einsum("o<+k=>o", y, reduce="mean", sizes={"k": 2})
        array([0.5, 1.5])
        >>> aj.einsum("i=>ii", y[1:]).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    placed: Sequence[Any] = operands
    if not isinstance(spec, str) or "=>" not in spec:
        spec, placed = spec_and_operands((spec, *operands))
        _check_options(spec, sizes, capture, use_padding, broadcast)
    sizes_of = tuple((sizes or {}).items()), checked_capture(capture, spec)
    given = spec, combine, reduce, *sizes_of, bool(use_padding), bool(broadcast), len(placed)
    return computed(_function(given), placed)


def concat(spec: str, *operands: Any, sizes: Sizes | None = None, use_padding: bool = False) -> Any:
    """Operands side by side, or parts of one, by a spec with concatenations `a^b`.

    The parts of `a^b` follow each other. `"a;b=>a^b"` joins two operands, `"a^b=>a"` is a prefix
    and `"a^b=>b"` a suffix; labels that the result does not have are summed over. What no operand
    fills is 0, as in `"a=>a^b"`.

    Args:
        spec: Label notation.
        operands: As for `einsum`.
        sizes: Sizes of labels and row variables.
        use_padding: As for `einsum`.

    Returns:
        What the operands are, fresh, of their common dtype. The axis of a concatenation of axis
        tensors is a new one.

    Raises:
        SpecError: the spec cannot be read.
        ShapeError: the operands do not fit it, or two of them fill the same part.

    Examples:
        >>> x, y = np.arange(3), np.arange(2)
        >>> aj.concat("a;b=>a^b", x, y)
        array([0, 1, 2, 0, 1])
        >>> aj.concat("a^b=>b", x, sizes={"a": 1})
        array([1, 2])
        >>> aj.concat("a,c;b,d=>a^b,c^d", x[:, None], y[None])
        array([[0, 0, 0],
               [1, 0, 0],
               [2, 0, 0],
               [0, 0, 1]])
    """
    given = spec, None, None, tuple((sizes or {}).items()), (), bool(use_padding), False, 0
    return computed(_function(given), operands)


def _function(given: tuple[Any, ...]) -> ArrayCall:
    """The function for what is asked for, kept unless it depends on what may change."""
    _, combine, reduce, sizes, capture, *_ = given
    plain = isinstance(combine, str | None) and isinstance(reduce, str | Accumulator | None)
    if capture or not plain or any(type(size) is not int for _, size in sizes):
        return _made.__wrapped__(*given)
    return _made(*given)


@lru_cache(maxsize=LARGEST)
def _made(
    spec: str,
    combine: Any,
    reduce: Any,
    sizes: tuple[tuple[str, SizeOf], ...],
    capture: tuple[Size, ...],
    use_padding: bool,
    broadcast: bool,
    operands: int,
) -> ArrayCall:
    """The function of `einsum`, or of `concat` where nothing is combined."""
    asked = f"{'concat' if combine is None else 'einsum'} {spec!r}"
    meaning = None if combine is None else checked_meaning(combine, reduce, operands, asked)
    labelled = combine is None or "=>" in spec
    parsed = parse_einsum(spec, use_padding) if labelled else None
    if parsed is not None and meaning is not None:
        _check_joins(parsed)
    return ArrayCall(Call(spec, parsed, meaning, sizes, capture, broadcast, asked))


def _check_options(spec: str, *values: object) -> None:
    """Refuse what only label notation has."""
    names = ("sizes", "capture", "use_padding", "broadcast")
    for name, value in zip(names, values, strict=True):
        if value:
            seen = f"{name}= with a spec of NumPy's, which has no '=>'"
            remedy = "write label notation, such as 'ij;jk=>ik'"
            raise ShapeError(f"einsum {spec!r}", seen, remedy, user_location())


def _check_joins(parsed: EinsumSpec) -> None:
    if any(isinstance(axis, Concat) for slot in parsed.slots for axis in slot):
        at = parsed.text.index("^")
        seen, remedy = "a concatenation in einsum", "call axiomjit.concat with this spec"
        raise SpecError(parsed.text, at, seen, remedy, user_location())


def checked_capture(capture: Sequence[Size] | None, spec: str) -> tuple[Size, ...]:
    """The sizes to be captured.

    Raises:
        GraphTypeError: something else than a Size.
    """
    found = tuple(capture or ())
    for one in found:
        if not isinstance(one, Size):
            seen, remedy = f"a {type(one).__name__}", "give axiomjit.Size('name') of a label"
            raise GraphTypeError(f"capture= of einsum {spec!r}", seen, remedy, user_location())
    return found
