"""The code of the native entry: `(cell, arguments, number, keyword names) -> result`.

The cell is a list of a tuple of tables, each followed by what it keeps alive, and of the function
that answers a call that no table fits. All addresses come from the tables; the code calls nothing
by name, so that its object file can be kept and loaded anywhere.
"""

from __future__ import annotations

from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry import structures as lies
from axiomjit.runtime.entry.builder import Value
from axiomjit.runtime.entry.entry_values import Entry
from axiomjit.runtime.entry.plan_code import answer


def entry_text() -> str:
    """LLVM text of the entry."""
    e = Entry()
    code = e.code
    items = code.load(e.cell, lies.LIST_ITEMS)
    e.tables = code.word(items, 0)
    with code.count(code.load(e.tables, lies.SIZE), step=2) as number:
        item = code.load(e.place(e.tables, number), lies.TUPLE_ITEMS)
        e.table = code.add(item, lies.BYTES)
        missed = code.label()
        other = code.label()
        _guard_call(e, other)
        e.take_memory(other)
        _guard_objects(e, missed)
        _guard_errors(e, missed)
        answer(e)
        code.go(missed)
        code.begin(missed)
        e.drop_memory()
        code.go(other)
        code.begin(other)
    # Without a table there is no runtime block: the cell has its address once more.
    slow, runtime = code.word(items, 1), code.add(code.word(items, 2), lies.BYTES)
    code.call(code.word(runtime, at.RUNTIME.index("take")), slow)
    vectorcall = code.word(runtime, at.RUNTIME.index("vectorcall"))
    result = code.call(vectorcall, slow, e.arguments, e.given, e.names)
    code.call(code.word(runtime, at.RUNTIME.index("drop")), slow)
    code.give(result)
    return code.text()


def _guard_call(e: Entry, missed: str) -> None:
    """The settings, and the number and names of the arguments."""
    code = e.code
    settings = code.load(e.runtime("settings"))
    code.require(code.test("eq", settings, e.head("settings")), missed)
    code.require(code.test("eq", e.given, e.head("positional")), missed)
    named = code.variable(0)
    with code.when(code.test("ne", e.names, 0)):
        code.store(code.load(e.names, lies.SIZE), named)
    keywords = code.load(named)
    code.require(code.test("eq", keywords, e.head("keywords")), missed)
    with code.count(keywords) as number:
        one = code.load(e.place(e.names, number), lies.TUPLE_ITEMS)
        other = code.load(e.place(e.head("names"), number), lies.TUPLE_ITEMS)
        code.require(code.test("eq", one, other), missed)


def _guard_objects(e: Entry, missed: str) -> None:
    """Every argument and every array that the program has from elsewhere."""
    code = e.code
    cursor = code.variable(code.add(e.table, 8 * len(at.HEADER)))
    arguments = (_guard_array, _guard_number, _guard_scalar, _guard_integer, _guard_same)
    kinds = (*arguments, _guard_apart)
    with code.count(e.head("records")):
        record = code.load(cursor)
        value = _guarded(e, record, at.SOURCE, at.OBJECT)
        following = code.label()
        for kind, guard in enumerate(kinds):
            with code.when(code.test("eq", code.word(record, at.KIND), kind)):
                guard(e, record, value, missed)
                code.go(following)
                code.begin(code.label())
        code.go(following)
        code.begin(following)
        code.store(e.place(record, code.word(record, at.SIZE)), cursor)


def _guarded(e: Entry, record: Value, source: int, thing: int) -> Value:
    """What a record guards: an argument by its number, or else an object."""
    code = e.code
    number, value = code.word(record, source), code.variable(0)
    code.store(code.word(record, thing), value)
    with code.when(code.test("sge", number, 0)):
        code.store(code.word(e.arguments, number), value)
    return code.load(value)


def _guard_array(e: Entry, record: Value, array: Value, missed: str) -> None:
    code = e.code
    kind = e.runtime("array_type")
    code.require(code.test("eq", code.load(array, lies.TYPE), kind), missed)
    dtype = code.load(code.load(array, lies.DTYPE), lies.DTYPE_KIND)
    dtype = code.both(dtype, lies.DTYPE_BYTES)
    code.require(code.test("eq", dtype, code.word(record, at.ARRAY_DTYPE)), missed)
    rank = code.load(array, lies.RANK, bits=32)
    code.require(code.test("eq", rank, code.word(record, at.ARRAY_RANK)), missed)
    wanted = code.word(record, at.ARRAY_FLAGS)
    flags = code.both(code.load(array, lies.FLAGS, bits=32), wanted)
    code.require(code.test("eq", flags, wanted), missed)
    data, known = code.load(array, lies.DATA), code.word(record, at.ARRAY_ADDRESS)
    with code.when(code.test("ne", known, 0)):
        code.require(code.test("eq", data, known), missed)
    shape, strides = code.load(array, lies.SHAPE), code.load(array, lies.STRIDES)
    lengths = code.add(record, 8 * at.ARRAY_SHAPE)
    steps = e.place(lengths, rank)
    with code.count(rank) as number:
        one, other = code.word(shape, number), code.word(lengths, number)
        code.require(code.test("eq", one, other), missed)
        one, other = code.word(strides, number), code.word(steps, number)
        code.require(code.test("eq", one, other), missed)
    e.fill_place(code.word(record, at.ARRAY_PLACE), array, data)


def _guard_number(e: Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    kind = code.word(record, at.NUMBER_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    place = code.word(record, at.NUMBER_PLACE)
    code.store(value, e.place(e.objects, place))
    slot, bits = e.place(e.values, place), code.add(value, lies.VALUE)
    with code.count(code.word(record, at.NUMBER_WORDS)) as number:
        code.store(code.word(bits, number), e.place(slot, number))


def _guard_scalar(e: Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    kind = code.word(record, at.SCALAR_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    e.fill_place(code.word(record, at.SCALAR_PLACE), value, code.add(value, lies.VALUE))


def _guard_integer(e: Entry, record: Value, value: Value, missed: str) -> None:
    """An int that does not fit gives another value than any table has, and no error."""
    code = e.code
    kind = code.word(record, at.INTEGER_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    number = code.call(e.runtime("int_value"), value, e.scratch)
    code.require(code.test("eq", code.load(e.scratch, 0, bits=32), 0), missed)
    code.require(code.test("eq", number, code.word(record, at.INTEGER_VALUE)), missed)


def _guard_same(e: Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    code.require(code.test("eq", value, code.word(record, at.FIRST)), missed)


def _guard_apart(e: Entry, record: Value, array: Value, missed: str) -> None:
    """No byte between the first and the last of one array is between those of the other."""
    code = e.code
    other = _guarded(e, record, at.APART_SOURCE, at.APART_OBJECT)
    one, two = code.load(array, lies.DATA), code.load(other, lies.DATA)
    spans = ((one, at.APART_LOW, at.APART_END), (two, at.APART_OTHER_LOW, at.APART_OTHER_END))
    (low, end), (other_low, other_end) = (
        [code.add(data, code.word(record, word)) for word in words] for data, *words in spans
    )
    apart = code.variable(0)
    for first_end, next_low in ((end, other_low), (other_end, low)):
        with code.when(code.test("sle", first_end, next_low)):
            code.store(1, apart)
    code.require(code.test("ne", code.load(apart), 0), missed)


def _guard_errors(e: Entry, missed: str) -> None:
    """No error state that asks for more than warnings."""
    code = e.code
    state = code.variable(0)
    code.call(e.runtime("context_value"), e.runtime("error_states"), 0, state)
    capsule, asked = code.load(state), code.variable(0)
    with code.when(code.test("ne", capsule, 0)):
        bits = code.load(code.load(capsule, lies.VALUE), 0, bits=32)
        code.store(code.both(bits, lies.ERROR_BITS), asked)
        code.call(e.runtime("drop"), capsule)
    code.require(code.test("eq", code.load(asked), 0), missed)
