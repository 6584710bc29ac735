"""Label notation is read into records, and each refusal points at its place."""

import pickle
import random

import pytest

import axiomjit as aj
from axiomjit.notation import (
    KINDS,
    Affine,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    Placeholder,
    RowSpec,
    SlotSpec,
    is_multichar,
    parse_einsum,
    parse_labels,
)


def row(*items):
    """A row of short forms: text is a label, a number an index, "..v.." a row variable."""
    axes = [i for i in items if not (isinstance(i, str) and i[0] == ".")]
    made = tuple(
        Label(a) if isinstance(a, str) else Fixed(a) if isinstance(a, int) else a for a in axes
    )
    if len(axes) == len(items):
        return RowSpec((), None, made)
    place = next(k for k, i in enumerate(items) if isinstance(i, str) and i[0] == ".")
    return RowSpec(made[:place], items[place].strip("."), made[place:])


NONE = RowSpec()


def slot(output=NONE, input=NONE, batch=NONE):
    return SlotSpec(batch, input, output)


LABELS = [
    ("", slot()),
    ("ij", slot(row("i", "j"))),
    ("i j", slot(row("i", "j"))),
    ("ij,", slot(row("ij"))),
    ("ij , k", slot(row("ij", "k"))),
    ("x_1,y2", slot(row("x_1", "y2"))),
    ("i->o", slot(row("o"), row("i"))),
    ("b|o", slot(row("o"), batch=row("b"))),
    ("b|i->o", slot(row("o"), row("i"), row("b"))),
    ("b|->", slot(batch=row("b"))),
    ("|->", slot()),
    ("i10", slot(row("i", 10))),
    ("00k", slot(row(0, "k"))),
    ("0 0 k", slot(row(0, 0, "k"))),
    ("1,23,", slot(row(1, 23))),
    ("_i_", slot(row(Placeholder(), "i", Placeholder()))),
    ("_,i", slot(row(Placeholder(), "i"))),
    ("...", slot(row("..output.."))),
    ("...|...->...", slot(row("..output.."), row("..input.."), row("..batch.."))),
    ("a...b", slot(row("a", "..output..", "b"))),
    ("2...|h", slot(row("h"), batch=row(2, "..batch.."))),
    ("..v..", slot(row("..v.."))),
    ("..batch..|a", slot(row("a"), batch=row("..batch.."))),
    (" .. v .. k", slot(row("..v..", "k"))),
    ("aa,..rest..bb", slot(row("aa", "..rest..", "bb"))),
    ("aa,..rest..,bb,", slot(row("aa", "..rest..", "bb"))),
    ("..rest..,", slot(row("..rest.."))),
    ("..rest..ab", slot(row("..rest..", "a", "b"))),
    ("2*i", slot(row(Affine(2, "i")))),
    ("3*i+2", slot(row(Affine(3, "i", 2)))),
    ("o<+k", slot(row(Affine(1, "o", 0, 1, "k")))),
    ("o=+k", slot(row(Affine(1, "o", 0, 1, "k", True)))),
    ("o+k", slot(row(Affine(1, "o", 0, 1, "k")))),
    ("o + 3*k, c", slot(row(Affine(1, "o", 0, 3, "k"), "c"))),
    ("2*o<+1+3*k", slot(row(Affine(2, "o", 1, 3, "k")))),
    ("2 * oh = + 3 * kh|", slot(batch=row(Affine(2, "oh", 0, 3, "kh", True)))),
    ("a^b", slot(row(Concat(("a", "b"))))),
    ("x,aa^b^c->a", slot(row("a"), row("x", Concat(("aa", "b", "c"))))),
]


@pytest.mark.parametrize(("text", "wanted"), LABELS)
def test_a_slot_is_read(text, wanted):
    found = parse_labels(text)
    assert found == wanted
    assert parse_labels(str(found)) == found
    assert eval(repr(found)) == found
    assert pickle.loads(pickle.dumps(found)) == found


def test_use_padding_says_what_a_plain_sum_means():
    for text, plain, padding in [
        ("o+k", False, True),
        ("o<+k", False, False),
        ("o=+k", True, True),
    ]:
        for use, wanted in ((False, plain), (True, padding)):
            (axis,) = parse_labels(text, use_padding=use)
            assert axis.padded is wanted
    (strided,) = parse_labels("2*o", use_padding=True)
    assert strided.padded is False


EINSUMS = [
    ("ij;jk=>ik", "i,j;j,k=>i,k"),
    ("ij=>", "i,j=>"),
    ("=>", "=>"),
    ("i=>ii", "i=>i,i"),
    ("a;b;c=>abc", "a;b;c=>a,b,c"),
    ("...|i->o=>...|o->i", "...|i->o=>...|o->i"),
    ("..v..|...ijk=>..v..kji", "..v..|...,i,j,k=>..v..,k,j,i"),
    ("i->1;ij...->0=>...->ji", "i->1;i,j,...->0=>...->j,i"),
    ("a;b=>a^b", "a;b=>a^b"),
    ("oh=+k,c;k,c=>oh", "oh=+k,c;k,c=>oh,"),
    ("..vv..,;a=>a", "..vv..;a=>a"),
]


@pytest.mark.parametrize(("text", "canonical"), EINSUMS)
def test_a_spec_is_read(text, canonical):
    found = parse_einsum(text)
    assert str(found) == canonical
    assert found.text == text
    again = parse_einsum(canonical)
    assert (again.operands, again.result) == (found.operands, found.result)
    assert eval(repr(found)) == found


def test_what_a_spec_has():
    found = parse_einsum("..v..|2*o<+k,c;k,c=>..v..|o,...")
    assert isinstance(found, EinsumSpec)
    assert found.labels == ("o", "k", "c")
    assert found.row_variables == ("v", "output")
    assert len(found.operands) == 2
    assert found.slots[-1] is found.result


MULTICHAR = [
    *(("ij;jk=>ik", False), ("a->b", False), ("a...|2=>", False), ("a=>b", False)),
    *(("a,b", True), ("2*i", True), ("o+k", True), ("a^b", True), ("a&b", True)),
    *(("o<", True), ("o=k", True), ("a=>b,", True), ("a==>b", True), ("a=", True)),
]


@pytest.mark.parametrize(("text", "several"), MULTICHAR)
def test_marks_make_labels_of_several_characters(text, several):
    assert is_multichar(text) is several


def test_axes_are_found_by_position():
    found = parse_labels("_ b|i->a...2j")
    assert found.axis_map == {
        ("batch", 1, True): Label("b"),
        ("input", 1, True): Label("i"),
        ("output", 1, False): Label("a"),
        ("output", 2, True): Fixed(2),
        ("output", 1, True): Label("j"),
    }
    memory = (None, Label("b"), Label("a"), Fixed(2), Label("j"), Label("i"))
    assert found.in_memory_order(None) == memory


def test_axes_have_an_order_and_hashes():
    axes = [Concat(("a", "b")), Affine(1, "o", 0, 1, "k"), Affine(1, "o"), Placeholder()]
    axes += [Fixed(3), Fixed(0), Label("b"), Label("a")]
    assert sorted(axes) == axes[::-1]
    assert len({*axes, *axes}) == len(axes)
    assert Label("a") <= Label("a") >= Label("a") < Label("b") < Fixed(0)
    with pytest.raises(TypeError, match="not supported"):
        Label("a") < "b"  # noqa: B015 - the comparison refuses


def random_axis(rng):
    name = rng.choice(["i", "jj", "k_2", "o", "w"])
    other = rng.choice(["x", "yy"])
    return rng.choice(
        [
            Label(name),
            Fixed(rng.randrange(30)),
            Placeholder(),
            Affine(rng.randint(2, 4), name, rng.randrange(2)),
            Affine(rng.randint(1, 4), name, 0, rng.randint(1, 3), other, rng.random() < 0.5),
            Concat((name, other)),
        ]
    )


def random_slot(rng):
    rows = {}
    for kind in KINDS:
        axes = tuple(random_axis(rng) for _ in range(rng.randrange(4)))
        cut, name = rng.randint(0, len(axes)), rng.choice([None, kind, "v", "rest"])
        rows[kind] = (
            RowSpec((), None, axes) if name is None else RowSpec(axes[:cut], name, axes[cut:])
        )
    return SlotSpec(**rows)


def test_what_is_printed_reads_back():
    rng = random.Random(1)
    for _ in range(500):
        slots = [random_slot(rng) for _ in range(rng.randint(2, 4))]
        text = f"{';'.join(map(str, slots[:-1]))}=>{slots[-1]}"
        # Marks of one row decide the mode of all.
        if is_multichar(text):
            found = parse_einsum(text)
            assert found.slots == tuple(slots), text
            spaced = "".join(f" {c} " if c in ",;|+*^" else c for c in text)
            assert parse_einsum(spaced).slots == tuple(slots)


ERRORS = [
    # spec, the caret's place, what was seen, what to do
    ("ij;jk", 5, "the end there", "write '=>'"),
    ("", 0, "the end there", "write '=>'"),
    ("i=>j;k", 4, "';' there", "one result"),
    ("i=>j=>k", 4, "'=>' there", "end the spec before it"),
    ("i-j=>i", 1, "'-' without '>'", "'->' after the input axes"),
    ("i>j=>i", 1, "'>' on its own", "'->' after the input axes"),
    ("a.b=>a", 1, "a single '.'", "'..name..'"),
    ("....=>", 3, "a single '.'", "'..name..'"),
    ("i?=>i", 1, "the character '?'", "write letters"),
    ("i(j)=>i", 1, "the character '('", "write letters"),
    ("a&b=>a", 1, "'&', which is reserved", "separate axes by ','"),
    ("a|b|c=>a", 3, "'|' there", "'|' before '->'"),
    ("a->b->c=>a", 4, "'->' there", "'|' before '->'"),
    ("a->b|c=>a", 4, "'|' there", "'|' before '->'"),
    ("...a...=>a", 4, "a second row variable '...'", "at most one row variable"),
    ("..v..w..u..=>", 6, "a second row variable '..'", "at most one row variable"),
    ("..v=>a", 3, "'=>' there", "after the name of a row variable"),
    ("..v w..=>a", 4, "'w' there", "after the name of a row variable"),
    ("..=>a", 2, "'=>' there", "'..name..'"),
    ("..2..=>a", 2, "'2' there", "'..name..'"),
    (".._..=>a", 2, "'_' there", "'..name..'"),
    ("..v...=>a", 3, "'...' there", "after the name of a row variable"),
    ("a b, c=>a", 2, "'b' there", "separate axes by ','"),
    ("2 3, c=>c", 2, "'3' there", "separate axes by ','"),
    ("a,,b=>a", 2, "',' there", "before it"),
    (",a=>a", 0, "',' there", "before it"),
    ("...,,a=>a", 4, "',' there", "between two commas"),
    ("a,*b=>a", 2, "'*' there", "before it"),
    ("2*=>a", 2, "'=>' there", "write a label there"),
    ("2*3=>a", 2, "'3' there", "write a label there"),
    ("0*i=>i", 0, "0 as a coefficient", "a positive coefficient"),
    ("o<+0*k=>o", 3, "0 as a coefficient", "a positive coefficient"),
    ("s*i=>i", 0, "'s' as a coefficient", "an integer before '*'"),
    ("i+1=>i", 2, "the offset '1' without a kernel", "2*i+1"),
    ("2*i<+1=>i", 5, "the offset '1' without a kernel", "a label after the offset"),
    ("2*i<,j=>i", 3, "'<' without a kernel", "'+' and a label"),
    ("o==>o", 1, "'=' without a kernel", "'+' and a label"),
    ("2*i+2=>i", 4, "an offset of 2 for a stride of 2", "below the stride"),
    ("o+1+k=>o", 2, "an offset of 1 for a stride of 1", "below the stride"),
    ("o+k+l=>o", 3, "'+' there", "nothing after the kernel"),
    ("o+k+1=>o", 3, "'+' there", "nothing after the kernel"),
    ("2*o+1+1=>o", 7, "'=>' there", "write '*' and a label"),
    ("o<+k=+l=>o", 4, "'=' there", "nothing after the kernel"),
    ("o+_=>o", 2, "'_' there", "write a label there"),
    ("_^a=>a", 0, "'_' there", "write a label there"),
    ("a^3=>a", 2, "'3' there", "write a label there"),
    ("3^a=>a", 1, "'^' there", "labels, not integers"),
    ("2+a=>a", 1, "'+' there", "labels, not integers"),
    ("a^2*b=>a", 2, "'2' there", "write a label there"),
    ("a^b+c=>a", 3, "'+' there", "a sum or a concatenation"),
    ("v..v..=>v", 3, "'v' both as a label and as a row variable", "a name of its own"),
    ("..v..=>v", 7, "'v' both as a label and as a row variable", "a name of its own"),
    ("batch,...|a=>a", 6, "'batch' both as a label and as a row variable", "of its own"),
    ("1234567890123456789a=>", 0, "an integer of 19 digits", "at most 18 digits"),
    ("ab=>a\nb c,?", 10, "the character '?'", "write letters"),
]


@pytest.mark.parametrize(("text", "place", "seen", "remedy"), ERRORS)
def test_a_refusal_points_at_its_place(text, place, seen, remedy):
    with pytest.raises(aj.SpecError, match="the spec ") as caught:
        parse_einsum(text)
    error = caught.value
    assert isinstance(error, aj.ShapeError | ValueError)
    assert error.position == place
    assert error.fault == seen
    assert remedy in error.remedy
    assert error.where.rpartition(":")[0] == __file__
    lines = str(error).splitlines()
    caret = next(k for k, line in enumerate(lines) if line.strip() == "^")
    column = lines[caret].index("^")
    assert lines[caret - 1][column : column + 1] == text[place : place + 1]
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_spec_that_cannot_be_read_is_a_refusal_of_a_shape():
    with pytest.raises(aj.ShapeError, match="'v' both as a label and as a row variable"):
        parse_labels("v|..v..")


@pytest.mark.parametrize(
    ("text", "place"), [("a;b", 1), ("a=>b", 1), ("a^", 2), ("a|b|c", 3), ("a,b c", 4)]
)
def test_labels_of_one_tensor_are_refused_as_well(text, place):
    with pytest.raises(aj.SpecError, match="instead: ") as caught:
        parse_labels(text)
    assert caught.value.position == place


@pytest.mark.parametrize("read", [parse_einsum, parse_labels])
@pytest.mark.parametrize("value", [None, 3, b"i=>i", ["i=>i"]])
def test_a_spec_is_text(read, value):
    with pytest.raises(TypeError, match=f"a {type(value).__name__}\n  instead: write the spec"):
        read(value)
