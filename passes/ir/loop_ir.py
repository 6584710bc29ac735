"""The loop program: a grammar on one page.

    Program  := Step*                      steps in order over named storages
    Step     := Nest | LibraryCall
    Nest     := Stmt*, then a combine part Stmt*
    Stmt     := For | If | Let | Load | Store | Alloc | Fold | Take | Push | Drain | Pick

Names are ours: iterators i0.., values v0.., states s0... An index is affine in the iterators, and
in values that were found to be positions before the nest runs; it counts elements from the first
element of its buffer. A fold has a state that `Alloc` opens with the neutral value,
`Fold` combines elements into, and whose value `Take` gives afterwards. A `tree` collects the states
of blocks: `Push` adds one, `Drain` leaves the total in the state. A state of several cells is a
tile: one cell per step of a loop over a block, its lanes. So is a storage of role tile: what a
loop over a block stores there, a later one over the same block loads. A `Pick` computes one of
several scalars, by where its iterators stand. A scatter is a `Store` at values, or with a combine;
its loops take their steps one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.index_maps import Conditions
from axiomjit.base.dtypes import DType, state_parts
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.primitives import Primitive, UfuncFold
from axiomjit.graph.state_folds import StateFold
from axiomjit.passes.ir.cost import Cost
from axiomjit.passes.ir.view_ir import ArrayRole, Count, Number, Storage, View


class Name(str):
    """The name of an iterator (i), a value (v) or a state (s): a letter and a number.

    `lower_to_loops` gives such names; what later passes add has plain strings for names.
    """

    __slots__ = ("letter", "number")

    letter: str
    number: int

    def __new__(cls, letter: str, number: int) -> Name:
        """The letter with the number behind it."""
        name = super().__new__(cls, f"{letter}{number}")
        name.letter, name.number = letter, number
        return name

    def moved(self, by: int) -> Name:
        """The name with the same letter and a number that is larger by so many."""
        return Name(self.letter, self.number + by)

    def __reduce__(self) -> tuple[type, tuple[str, int]]:
        return Name, (self.letter, self.number)


class Index(Record):
    """offset + sum of stride * iterator or value, in elements; none zero.

    Values come first (a gather), iterators in loop order; the place of a copy is before them.
    `gathered` are the names in `terms` that are values, in their order.
    """

    offset: Dim
    terms: tuple[tuple[str, Dim], ...]
    gathered: tuple[str, ...] = ()


class Block(Record):
    """A loop runs over one block of its extent: [outer * size, (outer + 1) * size).

    Where the outer loop takes several steps `together`, over the blocks of all of them.
    """

    outer: str
    size: int | Dim
    together: int = 1


class Limit(Record):
    """low <= sum of factor * iterator < high; terms in loop order.

    Factors are positive, of a loop's limits that of its own iterator.
    """

    terms: tuple[tuple[str, Dim], ...]
    low: Dim
    high: Dim


class For(Record):
    """A loop of a `kind`.

    Of a "map" the steps are independent, those of a "fold" feed a fold, and those of a "scatter"
    may store at one place, so that they keep their order.

    With a `span` it takes only the steps from the first to before the second; with `at`, the name
    of a whole number, only the step of this number; with `limits` only those at which they hold.
    It takes up to so many steps `together`, as one. `poll_every` is the number of steps between two
    looks at the flag that ends it early.
    The caller's range counts the steps of the first loop, or of one `under` it in all its steps.
    """

    iterator: str
    extent: Dim
    kind: str
    body: tuple[Stmt, ...]
    block: Block | None = None
    span: tuple[Dim, Dim] | None = None
    at: str | None = None
    limits: tuple[Limit, ...] = ()
    together: int = 1
    under: str | None = None
    poll_every: int = 0


class If(Record):
    """Statements for where all limits hold; what they define is known only to them."""

    limits: tuple[Limit, ...]
    body: tuple[Stmt, ...]


class Let(Record):
    """A scalar: a primitive of named scalars."""

    name: str
    dtype: DType
    primitive: Primitive
    operands: tuple[str, ...]


class Load(Record):
    """A scalar read from memory; with `ahead` memory so many elements further on is asked for."""

    name: str
    buffer: Storage
    index: Index
    ahead: Dim | None = None


class Store(Record):
    """A scalar written to memory.

    With `combine`, what is there is cast to the scalar's dtype, and the two are combined.
    """

    buffer: Storage
    index: Index
    value: str
    combine: Primitive | None = None

    @property
    def scatters(self) -> bool:
        """Whether several steps may store at one place; those of a row in a buffer never do."""
        found = bool(self.index.gathered) and self.buffer.role is not ArrayRole.PARTIAL
        return self.combine is not None or found


class State(Record):
    """The running values of a fold; `lanes` names the loop over a block that has a cell a step.

    Without `signs` a zero that is an extreme may have either sign.
    """

    name: str
    accumulator: UfuncFold | StateFold
    dtype: DType
    lanes: str | None = None
    cells: int = 1
    signs: bool = True

    @property
    def parts(self) -> tuple[DType, ...]:
        """The dtypes of its values: of most folds one."""
        return state_parts(self.dtype)


class Alloc(Record):
    """Open a state with its neutral value; `scope` "tree" opens the collection of its blocks."""

    state: State
    scope: str = "register"


class Fold(Record):
    """Combine values, cast to the state's dtypes, into a state (into the cell of the lane).

    Values that are `kept` of the state take its place.
    """

    state: State
    values: tuple[str, ...]
    kept: bool = False


class Take(Record):
    """Value number `part` of a state (of the cell of the lane).

    With `ahead` values it is what the state would have if these were combined into it.
    """

    name: str
    state: State
    part: int = 0
    ahead: tuple[str, ...] = ()

    @property
    def dtype(self) -> DType:
        """The dtype of the value."""
        return self.state.parts[self.part]


class Push(Record):
    """Add a finished block to the tree of its blocks: the state, or a value that was kept of it."""

    state: State
    value: str | None = None


class Drain(Record):
    """Leave the total of all pushed blocks in the state."""

    state: State


class Bound(Record):
    """low <= iterator < high; without an iterator low <= 0 < high."""

    iterator: str | None
    low: Dim
    high: Dim


class Part(Record):
    """What a pick computes where all bounds hold: statements, and the scalar `value`."""

    bounds: tuple[Bound, ...]
    body: tuple[Stmt, ...]
    value: str


class Pick(Record):
    """A scalar that is the value of the one part whose bounds hold."""

    name: str
    dtype: DType
    parts: tuple[Part, ...]


Stmt = For | If | Let | Load | Store | Alloc | Fold | Take | Push | Drain | Pick


class Nest(Record):
    """One future kernel: `body` runs for a range of the first loop, then once `combine`.

    Without a combine part the body is complete; `partials` are the buffers that carry the states
    of body parts to the combine part, of `groups` cells each. `tiles` are scratch of the body.

    `chunk_chain` is the number of steps of the range in one chain: each step needs the state that
    the one before has left in `partials`. They are taken in order, or in any order after the nest
    before, which leaves all states in its own and is run `ahead` for nothing else.

    A nest whose units may be `shared` by threads gives what the next one gives, unless the number
    is negative; one of both runs.
    """

    body: tuple[Stmt, ...]
    combine: tuple[Stmt, ...] = ()
    partials: tuple[Storage, ...] = ()
    tiles: tuple[Storage, ...] = ()
    ahead: bool = False
    chunk_chain: Dim | None = None
    shared: Dim | None = None


class LibraryCall(Record):
    """What a library computes: an operation on views into a storage.

    `labels` name the iterator of each of their dimensions, those of the target being 0, 1 and so
    on; `where` is the user's line. Where one of the `conditions` on these does not hold, nothing is
    read.
    """

    operation: LibraryOperation
    operands: tuple[View, ...]
    labels: tuple[tuple[int, ...], ...]
    target: Storage
    where: str | None = None
    conditions: Conditions = ()


class LoopProgram(Record):
    """Steps in order; storages, numbers and results as in the view program.

    Storages that are `updated` are written by several steps, in their order, the others by one.
    `costs` has one cost per step once it was estimated.
    """

    storages: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    steps: tuple[Nest | LibraryCall, ...]
    results: tuple[View, ...]
    updated: frozenset[str] = frozenset()
    costs: tuple[Cost, ...] = ()
    counts: tuple[Count, ...] = ()


def map_nests(program: LoopProgram, rule: Callable[[Nest], Nest]) -> LoopProgram:
    """Replace each nest by what `rule` gives for it; the program itself where nothing changes."""
    steps = tuple(step if isinstance(step, LibraryCall) else rule(step) for step in program.steps)
    if all(new is old for new, old in zip(steps, program.steps, strict=True)):
        return program
    return program.replace(steps=steps)


def bodies_of(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The bodies that stand inside a statement."""
    if isinstance(stmt, Pick):
        return tuple(part.body for part in stmt.parts)
    return (stmt.body,) if isinstance(stmt, For | If) else ()


def walk(body: tuple[Stmt, ...]) -> Iterator[Stmt]:
    """Every statement of a body and of the bodies inside; a loop or pick comes before its own."""
    found: list[Stmt] = []
    _gather(body, found)
    return iter(found)


def _gather(body: tuple[Stmt, ...], found: list[Stmt]) -> None:
    for stmt in body:
        found.append(stmt)
        if isinstance(stmt, For | If | Pick):
            for inner in bodies_of(stmt):
                _gather(inner, found)


def limited_iterators(body: tuple[Stmt, ...]) -> set[str]:
    """The iterators that limits of statements in a body name."""
    limits = [limit for stmt in walk(body) if isinstance(stmt, If | For) for limit in stmt.limits]
    return {name for limit in limits for name, _ in limit.terms}


def bounds_of(body: tuple[Stmt, ...]) -> list[Bound]:
    """The bounds of all picks in a body."""
    picks = [stmt for stmt in walk(body) if isinstance(stmt, Pick)]
    return [bound for pick in picks for part in pick.parts for bound in part.bounds]


def statements(nest: Nest) -> Iterator[Stmt]:
    """Every statement of both parts of a nest."""
    yield from walk(nest.body)
    yield from walk(nest.combine)


def cell(iterator: str, block: Block) -> Index:
    """The index of the tile's cell that belongs to the current step of a loop over a block."""
    return Index(dim(0), ((block.outer, dim(block.size) * -1), (iterator, dim(1))))


def used(stmt: Stmt) -> tuple[str, ...]:
    """The scalars that a statement needs."""
    match stmt:
        case Let(operands=operands):
            return operands
        case Load(index=index):
            return index.gathered
        case Store(value=value, index=index):
            return (value, *index.gathered)
        case Fold(values=values):
            return values
        case Take(ahead=ahead):
            return ahead
        case Push(value=value) if value is not None:
            return (value,)
        case For(at=at) if at is not None:
            return (at,)
    return ()


def rewrite_body(
    body: tuple[Stmt, ...], rule: Callable[[Stmt], tuple[Stmt, ...]]
) -> tuple[Stmt, ...]:
    """Replace each statement by what `rule` gives for it, inner loops first."""
    result: list[Stmt] = []
    for stmt in body:
        if isinstance(stmt, For | If):
            inner = rewrite_body(stmt.body, rule)
            stmt = stmt if inner == stmt.body else stmt.replace(body=inner)
        elif isinstance(stmt, Pick):
            parts = (p.replace(body=rewrite_body(p.body, rule)) for p in stmt.parts)
            stmt = stmt.replace(parts=tuple(parts))
        result += rule(stmt)
    return tuple(result)
