"""The loop program, whose steps are loop nests and library calls, and its grammar.

    | Program  := Step*                      steps in order over named storages
    | Step     := Nest | LibraryCall
    | Nest     := Stmt*, then a combine part Stmt*
    | Stmt     := For | If | Let | Load | Store | Alloc | Fold
    |           | ReadState | Push | Drain | Select | When | Leave

Names are generated: iterators i0, i1, ..., values v0, ... and states s0, ... An index is affine in
the iterators, and in values that an earlier step found to be valid positions; it counts elements
from the first element of its buffer. A reduction has a state: `Alloc` opens the state with the
neutral value, `Fold` combines elements into it, `ReadState` reads its value. A `tree` collects the
states of blocks: `Push` adds the state of a block, `Drain` sets the state to the total. A state
with lanes is a tile, with one cell per iteration of a loop over a block. A storage of role TILE is
a tile, too: a loop over a block stores values there for a later loop over the same block. `Select`
computes one of several scalars, depending on the iterators. A scatter is a `Store` whose index
contains values, or that combines the old element with the new one; the loops of a scatter run in
order.

A `serial` loop is a loop of the user's program: its iterations run in order, and its iterator is a
symbol in the lengths and offsets of its body. The trips of a `shared` loop are independent. `When`
runs one of two bodies, and `Leave` ends the loop around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from axiomjit.base.dtypes import DType, state_parts
from axiomjit.base.records import Record, cached_property
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.primitives import Primitive, UfuncFold
from axiomjit.graph.reductions import StateFold
from axiomjit.graph.regions import overwritten_by
from axiomjit.passes.ir.view_ir import ArrayRole, Count, Number, Storage, View
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Conditions


class Cost(Record):
    """The numbers of bytes and operations of a step or a plan, as symbolic expressions.

    `flops` is the cost of all operations, counted in additions. `temporary_bytes` is memory other
    than arguments and results. `scratch_bytes` is memory of partial results of folds (at most one
    state per 65,536 elements) and of buffered rows.
    """

    bytes_read: Dim
    bytes_written: Dim
    flops: Dim
    temporary_bytes: Dim
    scratch_bytes: Dim
    kernels: int


NO_COST: Final = Cost(*(dim(0), dim(0), dim(0), dim(0), dim(0)), 0)


class Name(str):
    """The name of an iterator (i), a value (v) or a state (s): a letter and a number.

    `lower_to_loops` makes names of this class; later passes also use plain strings.
    """

    __slots__ = ("letter", "number")

    letter: str
    number: int

    def __new__(cls, letter: str, number: int) -> Name:
        """Make the name of a letter and a number."""
        name = super().__new__(cls, f"{letter}{number}")
        name.letter, name.number = letter, number
        return name

    def moved(self, by: int) -> Name:
        """The name with its number increased by `by`."""
        return Name(self.letter, self.number + by)

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return Name, (self.letter, self.number)


class Index(Record):
    """The index offset + sum of stride * name, in elements; a name is an iterator or a value.

    No stride is zero. Terms are in the order: the iterator that selects a private copy, values of a
    gather, iterators in loop order. `gathered` has the names in `terms` that are values.
    """

    offset: Dim
    terms: tuple[tuple[str, Dim], ...]
    gathered: tuple[str, ...] = ()


class Block(Record):
    """The part of a loop's range that one iteration of the loop over `outer` covers.

    The part is [outer * size, (outer + unroll) * size), with the `unroll` of the outer loop.
    """

    outer: str
    size: int | Dim
    unroll: int = 1


class Limit(Record):
    """The condition low <= s < high, where s is a sum of factor * iterator in loop order.

    In a limit of a loop, the factor of the loop's own iterator is positive; in an `If`, all factors
    are positive.
    """

    terms: tuple[tuple[str, Dim], ...]
    low: Dim
    high: Dim


OF_PROGRAM: Final = ("serial", "shared")
"""The kinds of loops that stand for loops of the user's program."""
OVER_RANGE: Final = ("map", "shared")
"""The kinds of a first loop that runs over the range given by the caller of the kernel."""


class For(Record):
    """A loop over [0, extent), or over the part that `block`, `span`, `at` or `limits` select."""

    iterator: str
    extent: Dim
    kind: str
    """`map`: iterations are independent. `fold`: iterations feed a reduction. `scatter`: several
    iterations may write the same element, so they run in order. `serial`: iterations run in order,
    and lengths in the body depend on the iterator. `shared`: like `serial`, but iterations are
    independent, and the caller gives their range."""
    body: tuple[Stmt, ...]
    block: Block | None = None
    """The block whose iterations the loop runs; None if it is not limited to a block."""
    span: tuple[Dim, Dim] | None = None
    """The range of the iterations that the loop runs, its end excluded; None for all iterations."""
    at: str | None = None
    """The number of the only iteration that the loop runs; None for other loops."""
    limits: tuple[Limit, ...] = ()
    """Conditions; the loop runs only the iterations for which all of them hold."""
    unroll: int = 1
    """The number of iterations per run of the body; the blocks of inner loops cover all these
    iterations.
    """
    under: str | None = None
    """The iterator of the nest's first loop, if this loop is directly inside the first loop and the
    range given to the kernel counts the iterations of this loop; else None.
    """
    poll_every: int = 0
    """The number of iterations between checks for cancellation; 0 for no checks."""


class If(Record):
    """Statements that run where all limits hold; the names that they define are local."""

    limits: tuple[Limit, ...]
    body: tuple[Stmt, ...]


class When(Record):
    """A branch: `body` runs if a scalar is true, `otherwise` if it is false."""

    value: str
    body: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


class Leave(Record):
    """A statement that ends the serial loop around it if a scalar is false."""

    value: str


class Let(Record):
    """A definition of a scalar, which a primitive computes from other scalars."""

    name: str
    dtype: DType
    primitive: Primitive
    operands: tuple[str, ...]


class Load(Record):
    """A definition of a scalar, read from memory; `prefetch` is the distance of a prefetch."""

    name: str
    buffer: Storage
    index: Index
    prefetch: Dim | None = None


class Store(Record):
    """A write of a scalar to memory.

    With `combine`, the element in memory is cast to the scalar's dtype and combined with the
    scalar.
    """

    buffer: Storage
    index: Index
    value: str
    combine: Primitive | None = None

    @property
    def scatters(self) -> bool:
        """True if several iterations may write the same element; always False for partials."""
        found = bool(self.index.gathered) and self.buffer.role is not ArrayRole.PARTIAL
        return self.combine is not None or found


class State(Record):
    """The running values of a fold.

    With `lanes`, the name of a loop over a block, each iteration of that loop has a cell of its
    own.

    Without `signs`, a minimum or maximum that is zero may have either sign.
    """

    name: str
    accumulator: UfuncFold | StateFold
    dtype: DType
    lanes: str | None = None
    cells: int = 1
    signs: bool = True

    @property
    def parts(self) -> tuple[DType, ...]:
        """The dtypes of the state's values; most folds have one value."""
        return state_parts(self.dtype)


class Alloc(Record):
    """Open a state with its neutral value; with `scope` "tree", open the tree of its blocks."""

    state: State
    scope: str = "register"


class Fold(Record):
    """Combine values, cast to the state's dtypes, into a state or its cell for the current lane.

    With `kept`, the values come from a saved state and replace the state's values.
    """

    state: State
    values: tuple[str, ...]
    kept: bool = False


class ReadState(Record):
    """A definition of a scalar: value `part` of a state, or of its cell for the current lane.

    With `including`, the scalar is the value after combining these values; the state is unchanged.
    """

    name: str
    state: State
    part: int = 0
    including: tuple[str, ...] = ()

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self.state.parts[self.part]


class Push(Record):
    """Add the state of a finished block, or its saved `value`, to the tree of block results."""

    state: State
    value: str | None = None


class Drain(Record):
    """Set the state to the total of all pushed blocks."""

    state: State


class Bound(Record):
    """The condition low <= iterator < high; without an iterator, low <= 0 < high."""

    iterator: str | None
    low: Dim
    high: Dim


class Part(Record):
    """A case of a `Select`: if all bounds hold, its statements run and `value` is selected."""

    bounds: tuple[Bound, ...]
    body: tuple[Stmt, ...]
    value: str


class Select(Record):
    """A definition of a scalar: the value of the part whose bounds hold."""

    name: str
    dtype: DType
    parts: tuple[Part, ...]


Stmt = (
    For | If | Let | Load | Store | Alloc | Fold | ReadState | Push | Drain | Select | When | Leave
)


class Nest(Record):
    """One future kernel: `body` runs for a range of the first loop, then `combine` once.

    For a nest without a combine part, `combine` is empty.
    """

    __slots__ = ("__dict__",)

    body: tuple[Stmt, ...]
    combine: tuple[Stmt, ...] = ()
    partials: tuple[Storage, ...] = ()
    """The buffers that carry the states of body parts to the combine part."""
    tiles: tuple[Storage, ...] = ()
    """The scratch memory of the body."""
    prepass: bool = False
    """True if the nest only fills the partials of the next nest, so that chunks of the next nest
    may run in any order. A prepass is skipped if the chunks of the next nest run in order.
    """
    chunk_chain: Dim | None = None
    """The number of iterations per chunk, if a chunk needs the partials that the chunk before it
    left, or those of a prepass; else None."""
    parallel_variant: Dim | None = None
    """A number, if this nest is a parallel variant of the next nest, which runs in order and has
    the same results; else None. The next nest runs if the number is negative; otherwise this nest
    runs.
    """

    @cached_property
    def statements(self) -> tuple[Stmt, ...]:
        """All statements of both parts; statements inside another statement follow it."""
        return (*walk(self.body), *walk(self.combine))

    @cached_property
    def serial_iterators(self) -> frozenset[str]:
        """The iterators of the user's loops; lengths inside a loop may depend on its iterator."""
        loops = (s for s in self.statements if isinstance(s, For) and s.kind in OF_PROGRAM)
        return frozenset(loop.iterator for loop in loops)


class LibraryCall(Record):
    """A step that runs a library operation on views and writes a storage.

    `labels` has the iterator of each dimension of each operand; the dimensions of the target are
    iterators 0, 1 and so on. `where` is the user's source line. Operands are not read at points
    that violate one of the `conditions`.
    """

    operation: LibraryOperation
    operands: tuple[View, ...]
    labels: tuple[tuple[int, ...], ...]
    target: Storage
    where: str | None = None
    conditions: Conditions = ()


class LoopProgram(Record):
    """A program of steps in order; storages, numbers and results are those of the view program.

    Several steps may write a storage in `updated`, in order; one step writes each other storage.
    After `estimate_cost`, `costs` has one cost per step.
    """

    __slots__ = ("__dict__",)

    storages: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    steps: tuple[Nest | LibraryCall, ...]
    results: tuple[View, ...]
    updated: frozenset[str] = frozenset()
    costs: tuple[Cost, ...] = ()
    counts: tuple[Count, ...] = ()
    has_regions: bool = False
    """True if nests contain loops or branches of the user's program."""

    @cached_property
    def statements(self) -> dict[type[Stmt], list[Stmt]]:
        """The statements of all nests, grouped by type."""
        found: dict[type[Stmt], list[Stmt]] = {}
        for nest in self.steps:
            for stmt in nest.statements if isinstance(nest, Nest) else ():
                found.setdefault(type(stmt), []).append(stmt)
        return found


Defining = Let | Load | ReadState | Select
"""The types of statements that define a scalar and give it a name."""


def map_nests(program: LoopProgram, rule: Callable[[Nest], Nest]) -> LoopProgram:
    """Apply `rule` to each nest; return the same program if no nest changes."""
    steps = tuple(step if isinstance(step, LibraryCall) else rule(step) for step in program.steps)
    if all(new is old for new, old in zip(steps, program.steps, strict=True)):
        return program
    return program.replace(steps=steps)


def bodies_of(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The bodies directly inside a statement."""
    if isinstance(stmt, Select):
        return tuple(part.body for part in stmt.parts)
    if isinstance(stmt, When):
        return stmt.body, stmt.otherwise
    return (stmt.body,) if isinstance(stmt, For | If) else ()


def walk(body: tuple[Stmt, ...]) -> list[Stmt]:
    """All statements of a body; statements inside another statement follow it."""
    found: list[Stmt] = []
    left = [*reversed(body)]
    while left:
        stmt = left.pop()
        found.append(stmt)
        if isinstance(stmt, For | If | Select | When):
            for inner in reversed(bodies_of(stmt)):
                left += reversed(inner)
    return found


def limited_iterators(body: tuple[Stmt, ...]) -> set[str]:
    """The iterators on which limits of statements in a body depend."""
    limits = [limit for stmt in walk(body) if isinstance(stmt, If | For) for limit in stmt.limits]
    return {name for limit in limits for name, _ in limit.terms}


def bounds_of(body: tuple[Stmt, ...]) -> list[Bound]:
    """The bounds of all `Select`s in a body."""
    selects = [stmt for stmt in walk(body) if isinstance(stmt, Select)]
    return [bound for one in selects for part in one.parts for bound in part.bounds]


def cell(iterator: str, block: Block) -> Index:
    """The index of a tile's cell for the current iteration of a loop over a block."""
    return Index(dim(0), ((block.outer, dim(block.size) * -1), (iterator, dim(1))))


def used(stmt: Stmt) -> tuple[str, ...]:
    """The scalars that a statement uses."""
    match stmt:
        case Let(operands=operands):
            return operands
        case Load(index=index):
            return index.gathered
        case Store(value=value, index=index):
            return (value, *index.gathered)
        case Fold(values=values):
            return values
        case ReadState(including=including):
            return including
        case Push(value=value) if value is not None:
            return (value,)
        case When(value=value) | Leave(value=value):
            return (value,)
        case For(at=at) if at is not None:
            return (at,)
    return ()


def rewrite_body(
    body: tuple[Stmt, ...], rule: Callable[[Stmt], tuple[Stmt, ...]]
) -> tuple[Stmt, ...]:
    """Replace each statement by the statements that `rule` returns, inner statements first."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For | If):
            inner = rewrite_body(stmt.body, rule)
            stmt = stmt if inner == stmt.body else stmt.replace(body=inner)
        elif isinstance(stmt, Select):
            parts = (p.replace(body=rewrite_body(p.body, rule)) for p in stmt.parts)
            stmt = stmt.replace(parts=tuple(parts))
        elif isinstance(stmt, When):
            sides = [rewrite_body(side, rule) for side in bodies_of(stmt)]
            stmt = When(stmt.value, *sides)
        result += rule(stmt)
    return tuple(result)


def accessed(step: Nest | LibraryCall) -> tuple[set[Storage], set[Storage]]:
    """The storages that a step reads, and those that it writes."""
    if isinstance(step, LibraryCall):
        count = overwritten_by(step.operation)
        written = {view.storage for view in step.operands[:count]}
        return {view.storage for view in step.operands}, {step.target, *written}
    every = step.statements
    reads = {s.buffer for s in every if isinstance(s, Load)}
    return reads, {s.buffer for s in every if isinstance(s, Store)}


def needed(body: tuple[Stmt, ...], value: str) -> tuple[Stmt, ...]:
    """The statements of a body that compute a value; empty if the body does not define it."""
    wanted = {value}
    found: list[Stmt] = []
    for stmt in reversed(body):
        if isinstance(stmt, Defining) and stmt.name in wanted:
            wanted |= outer_values(stmt)
            found.append(stmt)
    return tuple(reversed(found))


def outer_values(stmt: Stmt) -> set[str]:
    """The scalars that a statement and its bodies use but do not define."""
    every = walk((stmt,))
    made = {s.name for s in every if isinstance(s, Defining)}
    picked = {part.value for s in every if isinstance(s, Select) for part in s.parts}
    return picked.union(*map(used, every)) - made


def dtypes_of(body: Sequence[Stmt]) -> dict[str, DType]:
    """The dtype of each scalar that the statements define, by the scalar's name."""
    loaded = {s.name: s.buffer.dtype for s in body if isinstance(s, Load)}
    return loaded | {s.name: s.dtype for s in body if isinstance(s, Let | ReadState | Select)}
