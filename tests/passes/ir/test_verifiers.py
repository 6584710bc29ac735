"""Each rule of each verifier finds the IR that breaks it."""

import numpy as np
import pytest

from axiomjit.base.dtypes import BOOL, FLOAT, INT, SINGLE
from axiomjit.base.errors import VerifyError
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import MATRIX_PRODUCT, SORT
from axiomjit.graph.nodes import Graph, Input, Op, Scalar, Update
from axiomjit.graph.primitives import (
    ACCUMULATORS,
    COPY,
    GATHER,
    JOIN,
    PRIMITIVES,
    UPDATE,
    VIEW,
    WHERE,
)
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Block,
    Drain,
    Fold,
    For,
    Index,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    Nest,
    Push,
    ReadState,
    State,
    Store,
    cell,
)
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.ir.view_ir import (
    ArrayRole,
    Definition,
    Library,
    Number,
    Storage,
    Value,
    View,
    ViewProgram,
)
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import fixed, identity, iterator
from axiomjit.views.descriptions import SimpleTensorViewDescription

SIX = (dim(6),)
ONE = (dim(1),)
SUM = ACCUMULATORS["sum"]
X = Input(FLOAT, 0, SIX)
FLAT = (identity(1),)
NEGATIVE = PRIMITIVES["negative"]


def copied(**changes):
    """A legal op over X, with fields changed."""
    fields = {
        "dtype": FLOAT,
        "primitive": NEGATIVE,
        "fold": None,
        "operands": (X,),
        "maps": FLAT,
        "extents": SIX,
        "rank": 1,
    }
    return Op(**(fields | changes))


def joined(spans):
    """X beside X, in these parts of the dimension."""
    regions = tuple(((dim(low), dim(high)),) for low, high in spans)
    return copied(primitive=JOIN, operands=(X, X), maps=FLAT * 2, regions=regions)


def updated(**changes):
    """A legal update of X with its own elements, with fields changed."""
    fields = {
        "dtype": FLOAT,
        "primitive": UPDATE,
        "fold": None,
        "operands": (X, X),
        "maps": FLAT * 2,
        "extents": SIX,
        "rank": 1,
        "whole": SIX,
    }
    return Update(**(fields | changes))


def test_verify_graph_leaves_a_legal_update_alone():
    assert verify_program(Graph((X,), (updated(),), (0,))) is None


SEEN = copied(primitive=VIEW)


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (Graph((X,), (updated(),)), "an update of Input.* which the graph does not write"),
        (Graph((X,), (), (0,)), r"inputs \(0,\) are written by 0 outputs"),
        (Graph((X,), (updated(), updated()), (0, 0)), "are written by 2 outputs"),
        (Graph((X,), (updated(),), (3,)), "the absent input 3 is written"),
        (Graph((X,), (copied(),), (0,)), "input 0 is written with another storage"),
        (Graph((X,), (X,), (0,)), "input 0 is written with another storage"),
        (Graph((X,), (updated(maps=((iterator(1),), *FLAT)),), (0,)), "beyond 1"),
        (Graph((X,), (updated(maps=((fixed(0),), *FLAT)),), (0,)), "i0 writes one element again"),
        (Graph((X,), (updated(operands=(SEEN, X)),)), "an update of Op"),
        (Graph((X,), (updated(whole=ONE),), (0,)), "an update of Input.* with another shape"),
        (
            Graph((X,), (copied(primitive=UPDATE, operands=(X, X), maps=FLAT * 2),)),
            "update in a Op",
        ),
    ],
)
def test_verify_graph_finds_wrong_writes(graph, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(graph)


@pytest.mark.parametrize(
    ("node", "fault"),
    [
        (copied(dtype=np.dtype("g")), f"dtype {np.dtype('g')} has no code"),
        (Input(FLOAT, 1, SIX), "input 1 is not among the graph's inputs"),
        (copied(operands=(X, X)), "negative takes 1 operands, has 2"),
        (copied(maps=()), "negative takes 1 operands"),
        (copied(rank=2), "rank 2 with 1 iterators"),
        (copied(rank=0), "folded iterators without an accumulator"),
        (copied(fold=SUM), "an accumulator without them"),
        (copied(maps=(identity(2),)), "a map of 2 dimensions onto an operand of 1"),
        (copied(maps=((iterator(1),),)), "map i1 names an iterator beyond 1"),
        (copied(primitive=WHERE, operands=(X, X, X), maps=FLAT * 3), "where chooses by float64"),
        (copied(primitive=GATHER, operands=(X, X), maps=FLAT * 2, rank=0), "a gather at float64"),
        (copied(primitive=GATHER, operands=(X,)), "a gather of 0 iterators by 1 operands"),
        (
            copied(
                primitive=GATHER,
                operands=(X, Op(INT, PRIMITIVES["cast"], None, (X,), FLAT, SIX, 1)),
                maps=FLAT * 2,
                rank=0,
            ),
            "a position .i0. of gathered iterators",
        ),
        (
            copied(
                primitive=PRIMITIVES["add"],
                operands=(X, Scalar(SINGLE, np.float32(1), False)),
                maps=(*FLAT, ()),
            ),
            "operands of float64, float32 without a cast",
        ),
        (
            copied(operands=(Scalar(BOOL, np.True_, False),), maps=((),)),
            "negative has no loop for bool",
        ),
        (joined([(0, 3), (2, 6)]), "join of regions .* which overlap"),
        (joined([(0, 3), (4, 6)]), "join of regions of 5 points in a space of 6"),
        (joined([(0, 3)]), "join needs 2 regions of 1 iterators"),
        (copied(primitive=VIEW, dtype=BOOL, fold=SUM, rank=0), "sum has no loop for bool"),
    ],
)
def test_verify_graph_finds(node, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(Graph((X,), (node,)))


def test_verify_graph_leaves_a_legal_graph_alone():
    assert verify_program(Graph((X,), (copied(),))) is None


A = Storage("a0", ArrayRole.ARGUMENT, FLOAT, SIX, ONE, X)
O = Storage("o1", ArrayRole.RESULT, FLOAT, SIX, ONE)  # noqa: E741
READ = View(A, SIX, dim(0), ONE)
DEFINED = Definition("r0", FLOAT, COPY, None, (READ,), SIX, 1, O)
VIEWS = ViewProgram((A, O), (), (DEFINED,), (View(O, SIX, dim(0), ONE),))
ABSENT = Storage("t9", ArrayRole.TEMPORARY, FLOAT, SIX, ONE)
TEN = Number("c0", FLOAT, Scalar(FLOAT, np.float64(10), True))


def with_tensor(thing, tensor):
    """A storage or view that another tensor describes."""
    fields = {name: getattr(thing, name) for name in type(thing)._fields}
    copy = object.__new__(type(thing))
    Record.__init__(copy, **(fields | {"tensor": tensor}))
    return copy


OVERLAPPING = tuple(((dim(low), dim(low + 4)),) for low in (0, 2))
SHOWN = VIEWS.results[0]
UNPLACED = A.tensor.replace(layout=None)
FIXED = A.tensor.replace(read_only=True)
ALOOF = SimpleTensorViewDescription(O.tensor, SIX)
FOREIGN = SimpleTensorViewDescription(A.tensor, SIX, SHOWN.tensor.layout)


def written(version=1, target=A, reads=0):
    """A program that reads A and writes its next version."""
    read = View(A, SIX, dim(0), ONE, version=reads)
    place = View(target, SIX, dim(0), ONE, version=version)
    step = DEFINED.replace(name="r1", operands=(read,), storage=A, target=place)
    return VIEWS.replace(definitions=(DEFINED, step), results=(SHOWN, place))


def test_verify_views_leaves_a_legal_write_alone():
    assert verify_program(written()) is None


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (written(version=2), "r1 writes version 2 of a0"),
        (written(target=O), "r1 writes version 1 of o1"),
        (written(reads=1), "r1 reads version 1 of a0, which has 0"),
        (written().replace(results=(READ,)), "the result reads version 0 of a0, which has 1"),
        (
            VIEWS.replace(definitions=(DEFINED, DEFINED.replace(name="r1"))),
            "r1 writes o1 again",
        ),
        (
            written().replace(
                definitions=(*written().definitions, DEFINED.replace(name="r2", storage=ABSENT))
            ),
            "r2 reads version 0 of a0, which has 1",
        ),
    ],
)
def test_verify_views_finds_lost_versions(program, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(program)


def with_definition(**changes):
    """The legal view program with another definition."""
    return VIEWS.replace(definitions=(DEFINED.replace(**changes),))


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (VIEWS.replace(storages=(A, A, O)), "two storages of one name"),
        (VIEWS.replace(storages=(with_tensor(A, UNPLACED), O)), "storage a0 has no layout"),
        (VIEWS.replace(storages=(with_tensor(A, FIXED), O)), "storage a0 is no l-tensor"),
        (with_definition(storage=A), "r0 writes to argument storage"),
        (VIEWS.replace(definitions=()), "result o1 is never computed"),
        (
            VIEWS.replace(results=(with_tensor(SHOWN, FOREIGN),)),
            "the result sees o1 as a view of another tensor",
        ),
        (VIEWS.replace(results=(with_tensor(SHOWN, ALOOF),)), "sees o1 without a layout"),
        (
            with_definition(operands=(View(ABSENT, SIX, dim(0), ONE),)),
            "r0 reads the unlisted storage t9",
        ),
        (
            with_definition(operands=(View(O, SIX, dim(0), ONE),)),
            "r0 reads o1 before it is computed",
        ),
        (with_definition(operands=(View(A, (), dim(0), ()),)), "r0 reads a view of 0 dimensions"),
        (with_definition(operands=(Value("r7", identity(1)),)), "r0 reads r7 before it is defined"),
        (
            VIEWS.replace(
                definitions=(DEFINED, DEFINED.replace(name="r1", operands=(Value("r0", ()),)))
            ),
            "r1 reads r0 with 0 dims",
        ),
        (with_definition(operands=(TEN,)), "r0 reads the unlisted number c0"),
        (
            with_definition(operands=(READ, READ), primitive=JOIN, regions=OVERLAPPING),
            "r0 joins regions .* which overlap",
        ),
        (with_definition(rank=0), "r0 folds without an accumulator"),
        (with_definition(primitive=SORT), "r0 needs whole operands but no library computes it"),
        (with_definition(fold=SUM), "r0 folds without an accumulator, or the reverse"),
        (
            VIEWS.replace(
                definitions=(
                    DEFINED,
                    DEFINED.replace(
                        name="r1", storage=None, library=Library(MATRIX_PRODUCT, ((0,), (0,)))
                    ),
                )
            ),
            "r1 is computed by a library but has no storage",
        ),
    ],
)
def test_verify_views_finds(program, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(program)


def test_verify_views_leaves_a_legal_program_alone():
    assert verify_program(VIEWS) is None


AT = Index(dim(0), (("i0", dim(1)),))
HERE = Index(dim(0), ())
LOAD, STORE = Load("v0", A, AT), Store(O, AT, "v0")
MAPPED = For("i0", dim(6), "map", (LOAD, STORE))
S = State("s0", SUM, FLOAT)
FOLDED = For("i0", dim(6), "fold", (LOAD, Fold(S, ("v0",))))
TOTAL = (Alloc(S), FOLDED, ReadState("v1", S), Store(O, HERE, "v1"))


def loops(*body, **changes):
    """A loop program of one nest."""
    return LoopProgram((A, O), (), (Nest(body),), (View(O, SIX, dim(0), ONE),)).replace(**changes)


def inside(*body, kind="map", block=None):
    """One loop around statements."""
    return loops(For("i0", dim(6), kind, body, block))


FOUR, IN_ONE = Block("i0s", 4), Block("i1", 3)
TILE = Storage("x0", ArrayRole.TILE, FLOAT, (dim(4),), ONE)
CELL = cell("i0", FOUR)
FILL, EMPTY = (LOAD, Store(TILE, CELL, "v0")), (Load("v1", TILE, CELL), Store(O, AT, "v1"))


def strips(*parts, block=FOUR, tiles=(TILE,)):
    """A loop over strips, each walked once per part."""
    inner = tuple(For("i0", dim(6), "map", part, block) for part in parts)
    return loops(steps=(Nest((For("i0s", dim(2), "map", inner),), tiles=tiles),))


PRODUCT = LibraryCall(MATRIX_PRODUCT, (READ, READ), ((0,), (0,)), O)


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (inside(Load("v0", ABSENT, AT), STORE), "t9 is read before it is written"),
        (loops(MAPPED, steps=(Nest((MAPPED,)), Nest((MAPPED,)))), "o1 is written twice"),
        (loops(steps=(PRODUCT, PRODUCT)), "o1 is written twice"),
        (inside(LOAD, STORE, Store(ABSENT, AT, "v0")), "t9 is not listed"),
        (loops(steps=()), "result o1 is never written"),
        (inside(Load("v1", A, AT), STORE), "v0 is used before it is defined"),
        (inside(LOAD, Let("v1", FLOAT, NEGATIVE, ("v9",)), STORE), "v9 is used before"),
        (loops(*TOTAL[:1], Fold(S, ("v0",)), *TOTAL[2:]), "v0 is used before it is defined"),
        (loops(For("i0", dim(6), "map", (MAPPED,))), "two loops over i0"),
        (inside(LOAD, LOAD, STORE), "v0 is defined twice"),
        (inside(LOAD, Store(O, Index(dim(0), (("i7", dim(1)),)), "v0")), "i7 outside its loop"),
        (inside(LOAD, STORE, block=Block("i9", 4)), "block of i0 in the absent loop i9"),
        (
            loops(MAPPED.replace(iterator="i1", unroll=2, body=(MAPPED.replace(block=IN_ONE),))),
            "blocks of i0 are not those of i1",
        ),
        (loops(MAPPED.replace(poll_every=4)), "a loop over the caller's range polls"),
        (
            loops(For("i1", dim(6), "map", (MAPPED.replace(block=IN_ONE, poll_every=4),))),
            "i0 polls after 4 steps, but takes others than one by one",
        ),
        (loops(*TOTAL[1:]), "state s0 is not open"),
        (inside(LOAD, ReadState("v1", S), STORE), "state s0 is not open"),
        (inside(LOAD, Push(S), STORE), "state s0 is not open"),
        (inside(LOAD, Drain(S), STORE), "state s0 is not open"),
        (loops(Alloc(S), MAPPED.replace(body=FOLDED.body)), "fold of s0 outside a fold loop"),
        (inside(LOAD, Alloc(S), Fold(S, ("v0",)), STORE), "fold of s0 outside a fold loop"),
        (
            loops(Alloc(S), FOLDED, ReadState("v1", S.replace(lanes="i5", cells=4)), TOTAL[3]),
            "lane i5 of s0 outside its loop",
        ),
        (strips(FILL, EMPTY, tiles=()), "x0 is not listed"),
        (strips(EMPTY, FILL), "the tile x0 is read before it is filled"),
        (strips((*FILL, *EMPTY)), "the tile x0 is read before it is filled"),
        (strips(FILL, EMPTY, block=None), "index of the tile x0 is not the cell of its step"),
        (strips(FILL, (Load("v1", TILE, AT), EMPTY[1])), "index of the tile x0 is not the cell"),
        (
            strips(FILL, EMPTY, block=Block("i0s", 8)),
            "index of the tile x0 is not the cell of its step",
        ),
        (
            strips((LOAD, Store(TILE.replace(shape=SIX), CELL, "v0")), EMPTY),
            "the tile x0 has not one cell for each step",
        ),
    ],
)
def test_verify_loops_finds(program, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(program)


@pytest.mark.parametrize(
    "program", [loops(MAPPED), loops(*TOTAL), loops(steps=(PRODUCT,)), strips(FILL, EMPTY)]
)
def test_verify_loops_leaves_a_legal_program_alone(program):
    assert verify_program(program) is None
