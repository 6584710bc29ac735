"""Graphs of axis tensors: tensors whose dimensions are labelled by axes.

A Tensor is a node of the graph with one Axis per dimension. Dimensions are paired by the identity
of axes (ngraph axes). Nodes get explicit index maps: nothing is broadcast by position, and a length
of 1 never stretches. A `TensorDescription` describes a tensor before anything is computed or
allocated (ngraph tensors).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.axis.axes import (
    Axes,
    AxesLike,
    axes_at,
    bound_lengths,
    inherit,
    known_lengths,
    make_axes,
)
from axiomjit.axis.declarations import (
    Declaration,
    DeclaredStorage,
    Start,
    Uses,
    check_layout,
    declared_axes,
    joined_axes,
    joined_uses,
    layout_of,
    layout_of_storage,
    starting_values,
)
from axiomjit.axis.named_arrays import AxisMethods, NamedArray, operation
from axiomjit.base import dtypes
from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.dtypes import DType, code, is_complex
from axiomjit.base.errors import AxesError, GraphTypeError, UnboundError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.trace_context import refused
from axiomjit.base.tree import is_labelled
from axiomjit.graph import builder, execution
from axiomjit.graph.execution import in_arrays
from axiomjit.graph.nodes import (
    Constant,
    Input,
    Node,
    Op,
    Scalar,
    base_of,
    note,
    post_order,
    views_on,
)
from axiomjit.graph.primitives import JOIN, VIEW, Primitive
from axiomjit.graph.storages import place_of, storage_root, strides_of_constant, with_versions
from axiomjit.graph.traced_values import AxisValue, By, Folding, Placing, TracedValue
from axiomjit.symbolic.dims import Dim, Symbol, dim, substitute
from axiomjit.symbolic.index_maps import IndexMap, permutation, strides_through
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    ComplexTensorViewDescription,
    Layout,
    LengthLike,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    known,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

ViewDescription = SimpleTensorViewDescription | ComplexTensorViewDescription


class TensorDescription(BasicTensorDescription):
    """The description of a tensor with axes, whose lengths give the shape.

    A length that is not known yet is a symbol. `view` is the description by shape if the tensor is
    a view (ngraph tensors, "TensorDescription").
    """

    axes: Axes
    view: ViewDescription | None

    def __init__(
        self,
        axes: AxesLike,
        dtype: DTypeLike,
        read_only: bool = True,
        layout: Layout | None = None,
        view: ViewDescription | None = None,
    ) -> None:
        """Describe a tensor with axes.

        Raises:
            AxesError: an axis is listed twice.
            GraphValueError: the layout does not fit the lengths.
        """
        labels = make_axes(axes)
        shape = [axis.dim if axis.length is None else axis.length for axis in labels]
        super().__init__(shape, dtype, read_only, layout, axes=labels, view=view)

    @property
    def base_tensor(self) -> BasicTensorDescription | None:
        """The description of the viewed tensor if this tensor is a simple view, else None."""
        view = self.view
        return view.base_tensor if isinstance(view, SimpleTensorViewDescription) else None


def describe(node: Node, axes: Axes, lengths: Mapping[Symbol, int]) -> TensorDescription:
    """The description of a node with these axes; `lengths` holds the known lengths."""
    plain = _Descriptions(lengths).by_shape(node)
    view: ViewDescription | None = None
    if isinstance(plain, SimpleTensorViewDescription | ComplexTensorViewDescription):
        view = plain
    return TensorDescription(axes, node.dtype, plain.read_only, plain.layout, view)


class _Descriptions:
    """Makes descriptions of nodes by shape; the lengths of some symbols are known."""

    def __init__(self, lengths: Mapping[Symbol, int]) -> None:
        self.symbols = lengths

    def by_shape(self, node: Node) -> BasicTensorDescription:
        """The description of a node, by shape; views and joins have descriptions of views."""
        node, views = views_on(node)
        tensor = self.of_base(node)
        for view in views:
            tensor = self.of_view(view, tensor)
        return tensor

    def length(self, length: Dim) -> LengthLike:
        """The length as an integer if it is known, else as a Dim."""
        now = substitute(length, self.symbols)
        return now if now.constant is None else now.constant

    def lengths(self, node: Node) -> tuple[LengthLike, ...]:
        """The shape of a node."""
        return tuple(map(self.length, node.shape))

    def of_base(self, node: Node) -> BasicTensorDescription:
        """The description of a node that is not a view."""
        lengths = self.lengths(node)
        root = storage_root(node)
        if root is not None:
            layout = layout_of(layout_of_storage(root), lengths)
            return BasicTensorDescription(lengths, node.dtype, False, layout)
        if isinstance(node, Constant):
            strides = map(_plain, strides_of_constant(node))
            return BasicTensorDescription(lengths, node.dtype, True, Layout(strides))
        if isinstance(node, Op) and node.primitive is JOIN:
            parts = [BasicTensorDescription(self.lengths(n), n.dtype) for n in node.operands]
            regions = [
                [(self.length(low), self.length(high)) for low, high in region]
                for region in node.regions
            ]
            return ComplexTensorViewDescription(parts, regions, map(self.known_map, node.maps))
        return BasicTensorDescription(lengths, node.dtype)

    def known_map(self, index: IndexMap) -> IndexMap:
        """The index map with known lengths in place of their symbols."""
        return tuple(f.map(Dim, lambda length: substitute(length, self.symbols)) for f in index)

    def of_view(self, view: Op, base: BasicTensorDescription) -> SimpleTensorViewDescription:
        """The description of a view; the view is assignable if no element is repeated."""
        index = self.known_map(view.maps[0])
        lengths = self.lengths(view)
        if view.primitive is VIEW and _is_permutation(index, lengths, base):
            order = [0] * view.rank
            for d, function in enumerate(index):
                order[function.terms[0][0]] = d
            return PermuteTensorDescription(base, order)
        layout = None
        if base.layout is not None and view.dtype == base.dtype:
            layout = _layout(index, view.rank, base.layout)
        return SimpleTensorViewDescription(
            base, lengths, layout, place_of(view) is None, view.dtype
        )


def _is_permutation(
    index: IndexMap, lengths: tuple[LengthLike, ...], base: BasicTensorDescription
) -> bool:
    """True if each dimension of the base is an entire dimension of the view."""
    own = [f.terms[0][0] for f in index if len(f.terms) == 1 and f.terms[0][1].constant == 1]
    if sorted(own) != list(range(len(lengths))) or len(own) != base.rank:
        return False
    starts = all(function.offset.constant == 0 for function in index)
    pairs = zip(own, base.lengths, strict=True)
    return starts and all(known(lengths[k] - n) == 0 for k, n in pairs)


def _layout(index: IndexMap, rank: int, base: Layout) -> Layout:
    """The layout of a view, computed from the layout of the tensor that is viewed."""
    offset, strides = strides_through(index, [dim(step) for step in base.strides], rank, dim)
    return Layout(map(_plain, strides), _plain(base.offset + offset))


def _plain(length: Dim) -> LengthLike:
    return length if length.constant is None else length.constant


ScalarValue = bool | int | float | complex | np.number | np.bool_
_positions: Final = itertools.count()
_serials: Final = itertools.count()


class Tensor(AxisMethods["Tensor"], AxisValue):
    """An array expression with one Axis for each dimension; `eval` computes its values.

    `constant`, `placeholder` and functions of tensors make tensors. Operators pair equal axes, `x @
    y` is `dot(x, y)`, and `x[{"H": 0, W: slice(2)}]` is a part. An axis is given as the Axis or by
    its name. An assignable tensor is a handle: it refers to a storage and a view of this storage.

    Examples:
        >>> x = aj.constant([[1.0, 2, 3], [4, 5, 6]], aj.make_axes({"H": 2, "W": 3}))
        >>> x
        f8[H=2, W=3]
        >>> (x - x.mean("W"))[{"H": 1}].eval().values
        array([-1.,  0.,  1.])
    """

    __slots__ = ("__weakref__", "_node", "_uses", "axes", "serial", "storage")

    def __init__(
        self,
        node: Node,
        axes: Axes,
        uses: Uses | None = None,
        storage: DeclaredStorage | None = None,
    ) -> None:
        """Label the dimensions of `node`.

        Args:
            node: The node of the value. For an l-tensor, the node is a version of the storage, or a
                view of a version.
            axes: One Axis per dimension.
            uses: Axes and declarations that the value depends on and the node does not refer to;
                they live as long as the tensor.
            storage: The storage of an l-tensor.
        """
        self._node: Final = node
        self._uses: Final = joined_uses(axes) if uses is None else uses
        self.axes: Final = axes
        self.serial: Final = next(_serials)  # sorts sets equally in every process
        self.storage: Final = storage

    @property
    def node(self) -> Node:
        """The node of the value; for an l-tensor, of the current version of its storage."""
        if self.storage is None:
            return self._node
        now = self.storage.current(self._node)
        if now is not self._node:
            inherit(now, self._node)
        return now

    def mapped(self, primitive: Primitive) -> Tensor:
        """Apply a primitive of one operand to each element."""
        return self._apply("mapped", primitive, self)

    def folding(
        self, operands: Sequence[object], axes: Any, running: bool, by: By | None = None
    ) -> Folding:
        """Prepare the reduction of tensors, including this one, along axes."""
        found: Folding = operation("folding")(operands, axes, running, by)
        return found

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """Prepare an operation on this tensor and others that pairs dimensions by position."""
        found: Placing = operation("placing")(operands, asked)
        return found

    @property
    def uses(self) -> Uses:
        """The axes and declarations that the value depends on; the node does not refer to them."""
        if self.storage is None or self.storage.uses is self._uses:
            return self._uses
        return self._uses.extended(self.storage.uses)

    @property
    def used_axes(self) -> Axes:
        """The roots of all axes that the value depends on."""
        return self.uses.axes

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._node.dtype

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The length of each axis; None for an unknown length."""
        return self.axes.lengths

    @property
    def size(self) -> int | None:
        """The number of elements; None while a length is unknown."""
        return self.axes.size

    @property
    def tensor_description(self) -> TensorDescription:
        """The axes, dtype, known layout, and assignability of the tensor.

        The terms are ngraph's (ngraph tensors, "Basic Tensor Descriptions").
        """
        return describe(self.node, self.axes, known_lengths(self.used_axes))

    @property
    def T(self) -> Tensor:
        """The tensor with transposed axes: offset k becomes -1 - k; the order of axes is kept.

        The result is a view (ngraph tensors, "Axes").
        """
        return labelled(self.node, self.axes.T, self)

    def transpose(self, *axes: object) -> Tensor:
        """The tensor with its axes in another order; without arguments the same as `x.T`.

        Args:
            axes: The new order: each axis once, given as an Axis, a name or a position. All axes
                may also be given as one list.
        """
        if not axes:
            return self.T
        given = axes[0] if len(axes) == 1 else axes
        order = axes_at(self.axes, given, f"transpose of {self!r}")
        result: Tensor = operation("axes_with_order")(self, order)
        return result

    @property
    def real(self) -> Tensor:
        """The real parts of the elements; for real numbers a tensor with the same values."""
        return labelled(builder.part(self.node, "real"), self.axes, self)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts of the elements; zeros for real numbers."""
        return labelled(builder.part(self.node, "imag"), self.axes, self)

    def conj(self) -> Tensor:
        """The complex conjugates of the elements; for real numbers the tensor itself."""
        conjugate: Tensor = operation("conjugate")(self)
        return conjugate if is_complex(self.dtype) else self

    @hides_frames
    def eval(self) -> NamedArray:
        """Compute the values as a named array; the tensor must not depend on placeholders.

        Variables have their initial values.

        Raises:
            AxesError: the length of an axis is unknown, or lengths do not fit.
            GraphValueError: the tensor depends on placeholders.
        """
        graph, variables = with_versions((self.node,), ())
        given = [node for node in variables if starting_values(node) is None]
        if given:
            listed = ", ".join(f"{code(node.dtype)}{declared_axes(node)}" for node in given)
            raise UnboundError(
                f"the values of {self!r}",
                f"it depends on the placeholders {listed}",
                "make_transformer().computation(x, *placeholders), called with their values",
                user_location(),
            )
        lengths = bound_lengths((self.node,), self.used_axes, repr(self))
        arrays = [starting_values(node) for node in variables]
        *_, values = execution.run(graph, arrays, lengths)
        return NamedArray(values, self.axes)

    @hides_frames
    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.eval().values, dtype)

    def __setitem__(self, key: object, value: object) -> None:
        operation("set_part")(self, key, value)

    def __repr__(self) -> str:
        return f"{code(self.dtype)}{self.axes}"

    def __str__(self) -> str:
        given = any(isinstance(node, Input) for node in post_order((self.node,)))
        unknown = None in self.used_axes.lengths
        return repr(self) if given or unknown else str(self.eval())

    def _value(self, use: str) -> Any:
        if use != "bool":
            return super()._value(use)
        raise GraphTypeError(
            f"the truth of {self!r}",
            "a tensor has values only when it is evaluated",
            "choose with where(condition, x, y), or look at x.eval()",
            user_location(),
        )


Operand = Tensor | NamedArray | ScalarValue


@hides_frames
def constant(value: ArrayLike, axes: AxesLike = None, dtype: DTypeLike | None = None) -> Tensor:
    """Make a tensor of given values, which are copied.

    Args:
        value: An array with one dimension per axis, or a number, to which all elements are equal.
        axes: The axes, by default the axes of a named array or DataArray; lengths must be known
            unless the value is a number.
        dtype: The element type; by default that of the value.

    Returns:
        A tensor with these axes (ngraph axes, "Properties").

    Raises:
        AxesError: an axis is listed twice, or the shape differs from the lengths of the axes.
        GraphTypeError: elements of this type cannot be compiled.

    Examples:
        >>> aj.constant(np.ones((2, 3)), aj.make_axes({"H": 2, "W": 3}))
        f8[H=2, W=3]
    """
    if axes is None and is_labelled(value):
        value = NamedArray.from_xarray(value)
    if axes is None and isinstance(value, Tensor | NamedArray):
        axes = value.axes
    labels = make_axes(axes)
    array = _frozen_copy(value, dtype)
    if array.ndim == 0:
        scalar = Scalar(array.dtype, array[()], False)
        return Tensor(builder.view(scalar, (), axis_extents(labels)), labels)
    if array.shape != tuple(axis.length for axis in labels):
        raise AxesError(
            f"a constant with axes {labels}",
            f"an array of shape {array.shape}",
            "list one axis per dimension, in order, each with the length of its dimension",
            user_location(),
        )
    return Tensor(Constant(array.dtype, array, axis_extents(labels)), labels)


def _frozen_copy(value: ArrayLike, dtype: DTypeLike | None) -> np.ndarray:
    asked = "a constant"
    wanted = None if dtype is None else dtypes.named(dtype, asked, user_location())
    refuse_chunked(value, asked)
    try:
        array = np.array(in_arrays((value,))[0], wanted, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "pass numbers of one kind, in rows of equal length"
        raise GraphTypeError(asked, str(error), remedy, user_location()) from None
    native = dtypes.supported(array.dtype, asked, user_location())
    array = array.astype(native, copy=False)
    array.flags.writeable = False
    return array


@hides_frames
def placeholder(
    axes: AxesLike, dtype: DTypeLike | None = None, layout: Layout | str | None = None
) -> Tensor:
    """Make a tensor whose values are an argument of a computation, and which can be assigned to.

    Args:
        axes: The axes, whose lengths may be assigned until the computation is called.
        dtype: The element type; by default float64.
        layout: The layout of arguments: "C", "F" or a Layout with sizes of at least the lengths;
            arguments with other layouts are copied. By default each argument is read in its own
            layout.

    Returns:
        A tensor with these axes (ngraph axes, "Axis and axes").

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: elements of this type cannot be compiled.
        GraphValueError: the layout does not fit the axes.

    Examples:
        >>> x = aj.placeholder(aj.make_axes({"H": 3}))
        >>> total = aj.transformers.make_transformer().computation(x.sum(), x)
        >>> float(total([1.0, 2, 3]))
        6.0
    """
    return declared(axes, dtype, "a placeholder", layout)


def declared(
    axes: AxesLike,
    dtype: DTypeLike | None,
    what: str,
    layout: Layout | str | None,
    start: Callable[[Axes, DType], Start] | None = None,
) -> Tensor:
    """Make a placeholder or a variable; `what` is its kind in messages.

    `start(axes, dtype)` returns a function that makes the initial values of a variable.
    """
    labels = make_axes(axes)
    asked = f"{what} of dtype {dtype}"
    native = dtypes.named(dtypes.FLOAT if dtype is None else dtype, asked, user_location())
    check_layout(layout, labels, f"{what} with axes {labels}")
    declaration = Declaration(labels, layout, None if start is None else start(labels, native))
    position = next(_positions)
    node = note(Input(native, position, axis_extents(labels), storage=declaration.token))
    uses = declaration.uses
    return Tensor(node, labels, uses, DeclaredStorage(node, uses))


def as_tensor(value: object, asked: str) -> Tensor:
    """The operand as a tensor; a number becomes a tensor without axes.

    Raises:
        GraphTypeError: the operand is neither a tensor nor a number.
    """
    if isinstance(value, Tensor):
        return value
    if is_labelled(value):
        value = NamedArray.from_xarray(value)
    if isinstance(value, NamedArray):
        return constant(value.values, value.axes)
    if isinstance(value, TracedValue):  # a traced value claims to be an array or a number
        kind = "an array that the compiled function was called with, which has no axes"
        remedy = "call the function with NamedArray(value, axes)"
        raise refused(GraphTypeError(asked, kind, remedy, user_location()))
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
    """The symbolic lengths of axes."""
    return tuple(axis.dim for axis in axes)


def axis_map(axes: Axes, result: Axes) -> IndexMap:
    """The map by which an op over the axes `result` reads an operand with `axes`."""
    return permutation([result.index(axis) for axis in axes])


def used_axes(tensors: tuple[Tensor, ...], axes: Axes) -> Axes:
    """The roots of `axes`, and all axes that the tensors depend on."""
    return joined_axes(axes, [tensor.uses for tensor in tensors])


def labelled(node: Node, axes: Axes, *sources: Tensor) -> Tensor:
    """A tensor with this node and these axes, computed from the tensors `sources`.

    A view of an l-tensor refers to the same storage.
    """
    root = storage_root(base_of(node))
    storage = None
    for tensor in sources if root is not None else ():
        if tensor.storage is not None and tensor.storage.root is root:
            storage = tensor.storage
    return Tensor(node, axes, joined_uses(axes, *[tensor.uses for tensor in sources]), storage)


def shown(values: tuple[object, ...]) -> str:
    """The text of operands in a message: tensors and numbers in full, other values by type."""
    return " and ".join(repr(v) if isinstance(v, Operand) else v.__class__.__name__ for v in values)
