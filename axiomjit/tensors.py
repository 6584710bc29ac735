"""The axis-graph door: tensors whose dimensions are axes, and their elementwise functions.

A Tensor is a node of the graph with one Axis per dimension. Which dimensions meet is decided
here, by the identity of axes (seed 001_dbff47214f01994e.txt); the nodes below get explicit index
maps, nothing is broadcast by position and a length of 1 never stretches.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final, NoReturn
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from axiomjit import builder, dtypes
from axiomjit.axes import Axes, AxesLike, make_axes
from axiomjit.axis_pairing import check_outer, common_order, matched
from axiomjit.axis_slices import Key, items_of, part
from axiomjit.dims import Dim
from axiomjit.dtypes import DType
from axiomjit.errors import AxesError, GraphTypeError
from axiomjit.graph import Held, Input, Node, Scalar
from axiomjit.index_maps import IndexMap, permutation
from axiomjit.origins import note, user_location
from axiomjit.primitives import PRIMITIVES

Number = bool | int | float | complex | np.number | np.bool_
_positions: Final = itertools.count()
_serials: Final = itertools.count()
_labels_of: Final[WeakKeyDictionary[Node, Axes]] = WeakKeyDictionary()


class Tensor:
    """A value with axes: a node of the graph, and one Axis for each of its dimensions.

    Operators are elementwise. `==` is Python's identity, so that tensors can be keys; compare
    values with `equal`. Made by `constant`, `placeholder` and the functions of tensors.
    """

    __slots__ = ("__weakref__", "axes", "node", "serial", "used_axes")
    __array_ufunc__: Final = None  # arrays leave `array + tensor` to __radd__, which refuses it

    def __init__(self, node: Node, axes: Axes, used_axes: Axes | None = None) -> None:
        """Label the dimensions of `node`.

        Args:
            node: What is computed.
            axes: One Axis per dimension.
            used_axes: The roots of every axis that the node's value depends on; they live as
                long as it.
        """
        self.node: Final = node
        self.axes: Final = axes
        self.serial: Final = next(_serials)  # orders the tensors of a set in every process alike
        self.used_axes: Final = axes.roots if used_axes is None else used_axes

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.node.dtype

    @property
    def T(self) -> Tensor:  # noqa: N802
        """The same values under transposed axes: offset k becomes -1 - k, the order stays.

        A view (seed 002, "Axes").
        """
        return Tensor(self.node, self.axes.T, self.used_axes)

    @property
    def real(self) -> Tensor:
        """The real parts; a tensor of real numbers itself."""
        return Tensor(builder.part(self.node, "real"), self.axes, self.used_axes)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts; zeros for real numbers."""
        return Tensor(builder.part(self.node, "imag"), self.axes, self.used_axes)

    def conj(self) -> Tensor:
        """The complex conjugates; a tensor of real numbers itself."""
        return map_op("conjugate", self) if self.dtype.kind == "c" else self

    def __repr__(self) -> str:
        return f"{dtypes.code(self.dtype)}{self.axes}"

    def __bool__(self) -> bool:
        raise GraphTypeError(
            f"the truth of {self!r}",
            "a tensor has values only when a computation runs",
            "choose with where(condition, x, y)",
            user_location(),
        )

    def __getitem__(self, key: Key) -> Tensor:
        asked = f"a part of {self!r}"
        node, axes = part(self.node, self.axes, items_of(key, self.axes, asked), asked)
        return self if node is self.node else labelled(node, axes, self)

    def __iter__(self) -> NoReturn:
        remedy = "take parts, as in x[0] or x[{axis: 0}]"
        seen = "a tensor, whose axes have no first one"
        raise GraphTypeError(f"iteration over {self!r}", seen, remedy, user_location())

    def __add__(self, other: Operand) -> Tensor:
        return add(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return add(other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return subtract(self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return subtract(other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return multiply(self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return multiply(other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return divide(self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return divide(other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return power(self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return power(other, self)

    def __neg__(self) -> Tensor:
        return negative(self)

    def __abs__(self) -> Tensor:
        return absolute(self)

    def __lt__(self, other: Operand) -> Tensor:
        return less(self, other)

    def __le__(self, other: Operand) -> Tensor:
        return less_equal(self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return greater(self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return greater_equal(self, other)


Operand = Tensor | Number


def constant(value: ArrayLike, axes: AxesLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor of given values, copied.

    Args:
        value: An array with one dimension per axis, or a number, which fills the axes.
        axes: Its axes; their lengths must be known unless a number fills them.
        dtype: Element type; the value's own when omitted.

    Returns:
        A tensor with these axes (seed 001_dbff47214f01994e.txt, "Properties").

    Raises:
        AxesError: an axis is listed twice, or the shape is not the lengths of the axes.
        GraphTypeError: the elements are nothing one can compute with.
    """
    labels = make_axes(axes)
    array = _frozen_copy(value, dtype)
    if array.ndim == 0:
        scalar = Scalar(array.dtype, array[()], False)
        return Tensor(builder.view(scalar, (), axis_extents(labels)), labels)
    if array.shape != tuple(axis.length for axis in labels):
        raise AxesError(
            f"a constant with axes {labels}",
            f"an array of shape {array.shape}",
            "list one axis per dimension, each with the length of its dimension set",
            user_location(),
        )
    return Tensor(Held(array.dtype, array, axis_extents(labels)), labels)


def _frozen_copy(value: ArrayLike, dtype: DTypeLike | None) -> np.ndarray:
    asked = "a constant"
    try:
        wanted = None if dtype is None else np.dtype(dtype)
        array = np.array(value, wanted, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "pass numbers of one kind, in rows of equal length"
        raise GraphTypeError(asked, str(error), remedy, user_location()) from None
    native = dtypes.supported(array.dtype, asked, user_location())
    array = array.astype(native, copy=False)
    array.flags.writeable = False
    return array


def placeholder(axes: AxesLike, dtype: DTypeLike | None = None) -> Tensor:
    """A tensor whose values are given when a computation is called.

    Args:
        axes: Its axes; lengths may be assigned until the call.
        dtype: Element type, float64 when omitted.

    Returns:
        A tensor with these axes (seed 001_dbff47214f01994e.txt, "Axis and axes").

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: elements of this type cannot be compiled.
    """
    labels = make_axes(axes)
    asked = f"a placeholder of dtype {dtype}"
    try:
        wanted = dtypes.FLOAT if dtype is None else np.dtype(dtype)
    except TypeError as error:
        raise GraphTypeError(asked, str(error), "name a dtype", user_location()) from None
    native = dtypes.supported(wanted, asked, user_location())
    node = note(Input(native, next(_positions), axis_extents(labels)))
    _labels_of[node] = labels
    return Tensor(node, labels)


def labels_of(node: Input) -> Axes:
    """The axes of a placeholder's node."""
    return _labels_of[node]


def as_tensor(value: object, asked: str) -> Tensor:
    """The operand as a tensor; a number has no axes.

    Raises:
        GraphTypeError: neither a tensor nor a number.
    """
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, bool | int | float | complex | np.generic):
        return Tensor(builder.as_node(value, asked), Axes())
    kind = f"a {type(value).__name__}"
    if isinstance(value, np.ndarray):
        kind = f"an array of shape {value.shape}, whose dimensions have no axes"
    remedy = "say which axes they are with constant(value, axes)"
    raise GraphTypeError(asked, kind, remedy, user_location())


def axis_extents(axes: Axes) -> tuple[Dim, ...]:
    """The lengths of axes as the graph writes them."""
    return tuple(axis.dim for axis in axes)


def axis_map(axes: Axes, result: Axes) -> IndexMap:
    """How an operand with `axes` is read where the op iterates over `result`."""
    return permutation([result.index(axis) for axis in axes])


def used_axes(tensors: tuple[Tensor, ...], axes: Axes) -> Axes:
    """The roots of `axes`, and every axis on whose length a tensor depends."""
    axes = axes.roots
    for tensor in tensors:
        axes = axes if axes.is_super_set(tensor.used_axes) else axes | tensor.used_axes
    return axes


def labelled(node: Node, axes: Axes, *sources: Tensor) -> Tensor:
    """The tensor of a node with these axes, computed of other tensors."""
    return Tensor(node, axes, used_axes(sources, axes))


def map_op(name: str, *values: object) -> Tensor:
    """A primitive of operands whose axes are paired, element by element.

    Raises:
        AxesError: axes of one class could be paired in several ways, or no axis is.
        GraphTypeError: an operand is an array without axes, or of the wrong kind.
    """
    asked = f"{name} of {shown(values)}"
    tensors = tuple(as_tensor(value, asked) for value in values)
    axes = tensors[0].axes
    labels = [axes]
    for tensor in tensors[1:]:
        paired = matched(axes, tensor.axes, asked)
        check_outer(axes, tensor.axes, bool(axes & paired), asked)
        axes = common_order(axes, paired)
        labels.append(paired)
    maps = [axis_map(label, axes) for label in labels]
    nodes = [tensor.node for tensor in tensors]
    node = builder.map_op(PRIMITIVES[name], nodes, maps, axis_extents(axes))
    return labelled(node, axes, *tensors)


def shown(values: tuple[object, ...]) -> str:
    """Operands for a message: tensors and numbers as they are, other values by their type."""
    return " and ".join(
        repr(v) if isinstance(v, Tensor | Number) else type(v).__name__ for v in values
    )


def _unary(name: str, meaning: str) -> Callable[[Operand], Tensor]:
    def function(x: Operand) -> Tensor:
        return map_op(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{meaning} of each element.\n\nReturns:\n    A tensor with the axes of x."
    return function


def _binary(name: str, meaning: str) -> Callable[[Operand, Operand], Tensor]:
    def function(x: Operand, y: Operand) -> Tensor:
        return map_op(name, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""{meaning}, element by element; axes are paired by identity.

    Returns:
        A tensor with the axes of the operand that has all axes, x first, else those of x and
        then the other ones of y (seed 001_dbff47214f01994e.txt, "Element-wise binary ops").
        dtypes promote as NumPy's do, Python numbers are weak.

    Raises:
        GraphTypeError: an operand is an array without axes, or of the wrong kind.
    """
    return function


negative = _unary("negative", "-x")
absolute = _unary("absolute", "The absolute value")
sqrt = _unary("sqrt", "The square root")
add = _binary("add", "x + y")
subtract = _binary("subtract", "x - y")
multiply = _binary("multiply", "x * y")
divide = _binary("divide", "x / y")
maximum = _binary("maximum", "The larger of x and y, NaN if either is")
minimum = _binary("minimum", "The smaller of x and y, NaN if either is")
equal = _binary("equal", "Whether x equals y")
not_equal = _binary("not_equal", "Whether x differs from y")
less = _binary("less", "x < y")
less_equal = _binary("less_equal", "x <= y")
greater = _binary("greater", "x > y")
greater_equal = _binary("greater_equal", "x >= y")


def power(x: Operand, y: Operand) -> Tensor:
    """x ** y, element by element; axes and dtypes as for `add`.

    Raises:
        GraphTypeError: an operand is an array without axes, or of the wrong kind.
    """
    asked = f"power of {shown((x, y))}"
    base, exponent = as_tensor(x, asked), as_tensor(y, asked)
    if exponent.node.weak:  # a Python number: NumPy's short forms for 2, 0.5, -1
        node = builder.power(base.node, exponent.node)
        return Tensor(node, base.axes, base.used_axes)
    return map_op("power", base, exponent)


def where(condition: Operand, x: Operand, y: Operand) -> Tensor:
    """x where the condition holds, else y, element by element.

    Returns:
        A tensor with the axes of `condition`, x and y, combined in this order as `add` does.

    Raises:
        GraphTypeError: an operand is an array without axes, or of the wrong kind.
    """
    return map_op("where", condition, x, y)
