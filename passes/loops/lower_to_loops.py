"""ViewProgram -> LoopProgram: one nest per stored value, r-tensors computed in their readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from axiomjit.base.dtypes import DType
from axiomjit.graph.primitives import CAST, GATHER, POSITION, STATE, UfuncFold
from axiomjit.graph.reductions import StateFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Bound,
    Fold,
    For,
    If,
    Index,
    Let,
    LibraryCall,
    Limit,
    Load,
    LoopProgram,
    Name,
    Nest,
    Part,
    ReadState,
    Select,
    State,
    Stmt,
    Store,
)
from axiomjit.passes.ir.view_ir import (
    POSITIONS,
    Definition,
    Number,
    ReadOperand,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, IndexMap, apply_map, fixed, iterator, through


def lower_to_loops(program: ViewProgram, context: Context) -> LoopProgram:
    """Turn each stored definition into a nest, or into a library call.

    Map loops are outside, in the order of the result's dimensions; fold loops are inside, in the
    order of the fold's dimensions. Unrolled iterators have no loop. An r-tensor becomes a scalar
    for each index at which it is read.

    Needs: a legal view program.
    Gives: a legal loop program with one step per stored definition.
    Keeps: storages, numbers and results.
    """
    definitions = {d.name: d for d in program.definitions}
    steps = tuple(
        _library_call(d) if d.library is not None else _Emitter(definitions).nest(d)
        for d in program.definitions
        if d.storage is not None
    )
    return LoopProgram(
        *(program.storages, program.numbers, steps, program.results, program.updated),
        counts=program.counts,
    )


class _Emitter:
    """Writes the statements of one nest."""

    def __init__(self, definitions: dict[str, Definition]) -> None:
        self.definitions = definitions
        self.extents: list[Dim] = []
        self.values: dict[tuple[str, tuple[Affine, ...], int], str] = {}
        self.folds: dict[tuple[str, tuple[Affine, ...], int], State] = {}
        self.bodies: list[list[Stmt]] = []  # keeps bodies alive: their ids are keys
        self.count = 0
        self.states = 0

    def nest(self, definition: Definition) -> Nest:
        """The nest that computes a definition into its storage."""
        self.extents = list(definition.extents[: definition.rank])
        if not definition.unrolled.isdisjoint(range(definition.rank)):
            return self.unrolled_nest(definition)
        place = tuple(self.place(k) for k in range(definition.rank))
        inner = self.open_body()
        scan = self.scan_of(definition)
        value = self.define(definition, place, inner) if scan is None else ""
        state = None if scan is None else self.step(scan, place, inner)
        if state is not None:
            part = int(definition.primitive.source) if scan is not definition else 0
            value = self.read_state(state, part, definition.dtype, inner)
        self.store(definition, place, value, inner)
        if state is None:
            within = tuple(inner) if definition.fold else _within(definition, place, inner)
            ordered = definition.ordered
            return Nest(self.loops("map", range(definition.rank), within, ordered))
        last = definition.rank - 1
        body = (Alloc(state), *self.loops("fold", range(last, last + 1), tuple(inner)))
        return Nest(self.loops("map", range(last), body))

    def unrolled_nest(self, definition: Definition) -> Nest:
        """The nest that computes a definition with a store for each value of unrolled iterators."""
        kept = range(definition.rank)
        inner = self.open_body()
        places = list(self.unrolled_places(definition, kept))
        values = [self.define(definition, place, inner) for place in places]
        for place, value in zip(places, values, strict=True):
            self.store(definition, place, value, inner)
        looped = [k for k in kept if k not in definition.unrolled]
        return Nest(self.loops("map", looped, tuple(inner)))

    def unrolled_places(self, definition: Definition, iterators: range) -> Iterator[IndexMap]:
        """Index functions of iterators, for all values of those that are unrolled."""
        choices = [
            map(fixed, range(_length(self.extents[k])))
            if k in definition.unrolled
            else (self.place(k),)
            for k in iterators
        ]
        return product(*choices)

    def store(self, definition: Definition, place: IndexMap, value: str, body: list[Stmt]) -> None:
        """Write the statement that stores a value of a definition at a place."""
        storage = definition.storage
        assert storage is not None
        whole = View(storage, storage.shape, dim(0), storage.strides)
        at = () if definition.target is None else self.positions(definition, place, body)
        index = self.index(definition.target or whole, (*place, *at))
        body.append(Store(storage, index, value, definition.combine))

    def scan_of(self, definition: Definition) -> Definition | None:
        """The scan that a definition computes, or from which it selects a value; else None."""
        if definition.primitive.name == "part":
            (whole,) = definition.operands
            assert isinstance(whole, Value), "folds of several values are not stored"
            definition = self.definitions[whole.name]
        is_scan = definition.fold is not None and definition.rank == len(definition.extents)
        return definition if is_scan else None

    def step(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> State:
        """Write statements that combine an element into the state of a fold; return the state."""
        fold = definition.fold
        assert isinstance(fold, UfuncFold | StateFold)
        state = State(Name("s", self.states), fold, fold.state_dtype(definition.dtype))
        self.states += 1
        values: tuple[str, ...]
        if definition.primitive is STATE:
            values = tuple(self.read(operand, place, body) for operand in definition.operands)
        else:
            values = (self.apply(definition, place, body),)
        body.append(Fold(state, values))
        return state

    def read_state(self, state: State, part: int, dtype: DType, body: list[Stmt]) -> str:
        """A value of a state, in the dtype of the result."""
        name = self.fresh()
        body.append(ReadState(name, state, part))
        return self.cast(name, state.parts[part], dtype, body)

    def open_body(self) -> list[Stmt]:
        """A new body; values computed in this body are shared only within the body."""
        self.bodies.append([])
        return self.bodies[-1]

    def loops(
        self,
        kind: str,
        iterators: Sequence[int],
        body: tuple[Stmt, ...],
        ordered: frozenset[int] = frozenset(),
    ) -> tuple[Stmt, ...]:
        """Loops around a body, the first iterator outermost, without loops of one iteration.

        A fold always has a loop, because its element is computed inside that loop. Two iterations
        of an `ordered` loop may write the same element.
        """
        inner = body
        for k in reversed(iterators):
            last_chance = kind == "fold" and k == iterators[0] and body is inner
            if self.extents[k].constant != 1 or last_chance:
                own = "scatter" if k in ordered else kind
                body = (For(Name("i", k), self.extents[k], own, body),)
        return body

    def place(self, k: int) -> Affine:
        """The index function of an iterator; 0 if the iterator has only one value."""
        return fixed(0) if self.extents[k].constant == 1 else iterator(k)

    def define(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """The name of the value of a definition at the place of its map iterators."""
        if definition.fold is None:
            return self.apply(definition, place, body)
        if not definition.unrolled.isdisjoint(range(definition.rank, len(definition.extents))):
            return self.short_fold(definition, place, body)
        return self.read_state(self.fold(definition, place, body), 0, definition.dtype, body)

    def fold(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> State:
        """The state of a fold after all its elements."""
        first = len(self.extents)
        folded = definition.extents[definition.rank :]
        self.extents += folded
        inner = self.open_body()
        place = (*place, *(self.place(first + k) for k in range(len(folded))))
        state = self.step(definition, place, inner)
        within = _within(definition, place, inner)
        loop = self.loops("fold", range(first, len(self.extents)), within)
        body += [Alloc(state), *loop]
        return state

    def short_fold(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """The value of a fold whose elements are combined one after the other, without a loop."""
        fold = definition.fold
        assert isinstance(fold, UfuncFold)
        folded = definition.extents[definition.rank :]
        dtype = fold.state_dtype(definition.dtype)
        total = None
        for at in product(*(range(_length(n)) for n in folded)):
            value = self.apply(definition, (*place, *map(fixed, at)), body)
            value = self.cast(value, self.element_dtype(definition), dtype, body)
            if total is not None:
                names = total, value
                value = self.fresh()
                body.append(Let(value, dtype, fold.combine, names))
            total = value
        assert total is not None
        return self.cast(total, dtype, definition.dtype, body)

    def element_dtype(self, definition: Definition) -> DType:
        """The dtype of the elements that a fold combines."""
        if definition.primitive.name != "view":
            return definition.dtype
        (operand,) = definition.operands
        return self.definitions[operand.name].dtype if isinstance(operand, Value) else operand.dtype

    def cast(self, value: str, dtype: DType, wanted: DType, body: list[Stmt]) -> str:
        """The value in another dtype."""
        if dtype == wanted:
            return value
        name = self.fresh()
        body.append(Let(name, wanted, CAST, (value,)))
        return name

    def part(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """One value of a fold with several values; the fold is computed once per index and body."""
        (whole,) = definition.operands
        assert isinstance(whole, Value), "folds of several values are not stored"
        index = tuple(apply_map(function, place) for function in whole.index)
        key = (whole.name, index, id(body))
        if key not in self.folds:
            self.folds[key] = self.fold(self.definitions[whole.name], index, body)
        name = self.fresh()
        body.append(ReadState(name, self.folds[key], int(definition.primitive.source)))
        return name

    def apply(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """The result of a definition's primitive at one point of the iteration space."""
        if definition.regions:
            return self.select(definition, place, body)
        if definition.primitive.name == "part":
            return self.part(definition, place, body)
        if definition.primitive is POSITION:
            return self.load(POSITIONS, place[0], body)
        if definition.primitive is GATHER:
            return self.gather(definition, place, body)
        operands = tuple(self.read(operand, place, body) for operand in definition.operands)
        if definition.primitive.name == "view":
            return operands[0]
        name = self.fresh()
        dtype = definition.dtype
        body.append(Let(name, dtype, definition.primitive, operands))
        return name

    def gather(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """The value of a gather: the element of the first operand at the other operands' values."""
        at = self.positions(definition, place, body)
        return self.read(definition.operands[0], (*place, *at), body)

    def positions(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> IndexMap:
        """The values of all operands except the first one, each as an index function."""
        count = len(definition.extents) - definition.rank
        operands = definition.operands[1:] if count else ()
        return tuple(_value(self.read(operand, place, body)) for operand in operands)

    def select(self, definition: Definition, place: IndexMap, body: list[Stmt]) -> str:
        """The value of a join; each operand is read only in the part that it fills."""
        parts: list[Part] = []
        for operand, region in zip(definition.operands, definition.regions, strict=True):
            inner = self.open_body()
            value = self.read(operand, place, inner)
            limits = zip(place, region, definition.extents, strict=True)
            bounds = tuple(
                _bound(function, low, high)
                for function, (low, high), extent in limits
                if low.constant != 0 or high is not extent
            )
            parts.append(Part(bounds, tuple(inner), value))
        name = self.fresh()
        body.append(Select(name, definition.dtype, tuple(parts)))
        return name

    def read(self, operand: ReadOperand, place: IndexMap, body: list[Stmt]) -> str:
        """The value of an operand; each body computes or loads the value once per index."""
        if isinstance(operand, Number):
            return operand.name
        if isinstance(operand, Value):
            index = tuple(apply_map(function, place) for function in operand.index)
            key = (operand.name, index, id(body))
            if key not in self.values:
                self.values[key] = self.define(self.definitions[operand.name], index, body)
            return self.values[key]
        return self.load(operand.storage, _element_offset(operand, place), body)

    def load(self, storage: Storage, at: Affine, body: list[Stmt]) -> str:
        """The element of a storage at a place; each body loads the element once per place."""
        key = (storage.name, (at,), id(body))
        if key not in self.values:
            self.values[key] = self.fresh()
            body.append(Load(self.values[key], storage, _named(at)))
        return self.values[key]

    def index(self, view: View, place: IndexMap) -> Index:
        """The index of a view's element at a place."""
        return _named(_element_offset(view, place))

    def fresh(self) -> Name:
        """A new value name."""
        self.count += 1
        return Name("v", self.count - 1)


def _length(extent: Dim) -> int:
    """The length of an unrolled iterator."""
    assert extent.constant is not None, "only literal lengths are unrolled"
    return extent.constant


def _within(definition: Definition, place: IndexMap, body: list[Stmt]) -> tuple[Stmt, ...]:
    """A body that runs only for the points at which the conditions of a definition hold."""
    limits = tuple(
        Limit(tuple((f"i{k}", c) for k, c in one.function.terms), one.low, one.high)
        for one in through(definition.conditions, place)
    )
    return (If(limits, tuple(body)),) if limits else tuple(body)


def _element_offset(view: View, place: IndexMap) -> Affine:
    terms = tuple((k, stride) for k, stride in enumerate(view.strides) if stride.constant != 0)
    return apply_map(Affine(view.offset, terms), place)


def _bound(function: Affine, low: Dim, high: Dim) -> Bound:
    """The condition low <= function < high as a range of the function's iterator."""
    low, high = low - function.offset, high - function.offset
    if not function.terms:
        return Bound(None, low, high)
    ((k, coefficient),) = function.terms
    factor = coefficient.constant
    assert factor, "a join is read along one iterator at a time"
    if factor < 0:
        factor, low, high = -factor, 1 - high, 1 - low
    return Bound(f"i{k}", (low + (factor - 1)) // factor, (high + (factor - 1)) // factor)


def _value(name: str) -> Affine:
    """A scalar as an index function; scalars are numbered down from -1, below iterators."""
    assert isinstance(name, Name), "positions are computed in the nest"
    return iterator(-1 - name.number)


def _named(function: Affine) -> Index:
    """The index function as an Index, with the names of iterators and values."""
    names = [f"i{k}" if k >= 0 else f"v{-1 - k}" for k, _ in function.terms]
    terms = tuple((name, s) for name, (_, s) in zip(names, function.terms, strict=True))
    gathered = tuple(name for name, (k, _) in zip(names, function.terms, strict=True) if k < 0)
    return Index(function.offset, terms, gathered)


def _library_call(definition: Definition) -> LibraryCall:
    """The library call of a definition; each operand has a dimension per iterator of its own."""
    library = definition.library
    assert library is not None
    assert definition.storage is not None
    operands = []
    for operand, own in zip(definition.operands, library.labels, strict=True):
        assert isinstance(operand, View), "operands of a library call are stored"
        strides = tuple(operand.strides[k] for k in own)
        shape = tuple(definition.extents[k] for k in own)
        operands.append(View(operand.storage, shape, operand.offset, strides))
    given = library.operation, tuple(operands), library.labels, definition.storage, library.where
    return LibraryCall(*given, definition.conditions)
