"""The code of the native entry: `(cell, arguments, number, keyword names) -> result`.

The cell is a list of a tuple of tables, each followed by what it keeps alive, and of the function
that answers a call that no table fits. All addresses come from the tables; the code calls nothing
by name, so that its object file can be kept and loaded anywhere.
"""

from __future__ import annotations

from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry import structures as lies
from axiomjit.runtime.entry.builder import Builder, Value

NAME = "axiomjit_entry"


class _Entry:
    """The values that all parts of the function use."""

    def __init__(self) -> None:
        self.code = Builder(NAME, 4)
        self.cell, self.arguments, self.given, self.names = self.code.parameters
        self.words = self.code.block(at.MOST_WORDS + 1)  # one more for what no kernel reads
        self.made = self.code.block(at.MOST_ARRAYS)
        self.scratch = self.code.block(8)
        self.table: Value = ""
        self.tables: Value = ""

    def head(self, name: str) -> Value:
        """A word of the table's header."""
        return self.code.word(self.table, at.HEADER.index(name))

    def runtime(self, name: str) -> Value:
        """A function of CPython or NumPy, an object, or the address of a word."""
        return self.code.word(self.head("runtime"), at.RUNTIME.index(name))

    def place(self, base: Value, number: Value) -> Value:
        """The address of a word by its number."""
        return self.code.add(base, self.code.shift_left(number, 3))

    def drop_tables(self) -> None:
        """Give up the reference to the tables, which end with those that keep nothing else."""
        self.code.call(self.runtime("drop"), self.tables)


def entry_text() -> str:
    """LLVM text of the entry."""
    e = _Entry()
    code = e.code
    items = code.load(e.cell, lies.LIST_ITEMS)
    e.tables = code.word(items, 0)
    with code.count(code.load(e.tables, lies.SIZE), step=2) as number:
        item = code.load(e.place(e.tables, number), lies.TUPLE_ITEMS)
        e.table = code.add(item, lies.BYTES)
        missed = code.label()
        _guard_call(e, missed)
        _guard_objects(e, missed)
        _guard_errors(e, missed)
        _answer(e)
        code.go(missed)
        code.begin(missed)
    # Without a table there is no runtime block: the cell has its address once more.
    slow, runtime = code.word(items, 1), code.add(code.word(items, 2), lies.BYTES)
    code.call(code.word(runtime, at.RUNTIME.index("take")), slow)
    vectorcall = code.word(runtime, at.RUNTIME.index("vectorcall"))
    result = code.call(vectorcall, slow, e.arguments, e.given, e.names)
    code.call(code.word(runtime, at.RUNTIME.index("drop")), slow)
    code.give(result)
    return code.text()


def _guard_call(e: _Entry, missed: str) -> None:
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


def _guard_objects(e: _Entry, missed: str) -> None:
    """Every argument and every array that the program has from elsewhere."""
    code = e.code
    _copy_words(e)
    cursor = code.variable(code.add(e.table, 8 * len(at.HEADER)))
    kinds = (_guard_array, _guard_number, _guard_scalar, _guard_integer, _guard_same)
    with code.count(e.head("records")):
        record = code.load(cursor)
        source, value = code.word(record, at.SOURCE), code.variable(0)
        code.store(code.word(record, at.OBJECT), value)
        with code.when(code.test("sge", source, 0)):
            code.store(code.word(e.arguments, source), value)
        following = code.label()
        for kind, guard in enumerate(kinds):
            with code.when(code.test("eq", code.word(record, at.KIND), kind)):
                guard(e, record, code.load(value), missed)
                code.go(following)
                code.begin(code.label())
        code.go(following)
        code.begin(following)
        code.store(e.place(record, code.word(record, at.SIZE)), cursor)


def _copy_words(e: _Entry) -> None:
    """The words that all calls have in common."""
    code = e.code
    template = e.place(e.table, e.head("template_at"))
    with code.count(e.head("template")) as number:
        code.store(code.word(template, number), e.place(e.words, number))


def _guard_array(e: _Entry, record: Value, array: Value, missed: str) -> None:
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
    code.store(data, e.place(e.words, code.word(record, at.ARRAY_SLOT)))


def _guard_number(e: _Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    kind = code.word(record, at.NUMBER_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    slot = e.place(e.words, code.word(record, at.NUMBER_SLOT))
    bits = code.add(value, lies.VALUE)
    with code.count(code.word(record, at.NUMBER_WORDS)) as number:
        code.store(code.word(bits, number), e.place(slot, number))


def _guard_scalar(e: _Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    kind = code.word(record, at.SCALAR_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    place = e.place(e.words, code.word(record, at.SCALAR_SLOT))
    code.store(code.add(value, lies.VALUE), place)


def _guard_integer(e: _Entry, record: Value, value: Value, missed: str) -> None:
    """An int that does not fit gives another value than any table has, and no error."""
    code = e.code
    kind = code.word(record, at.INTEGER_TYPE)
    code.require(code.test("eq", code.load(value, lies.TYPE), kind), missed)
    number = code.call(e.runtime("int_value"), value, e.scratch)
    code.require(code.test("eq", code.load(e.scratch, 0, bits=32), 0), missed)
    code.require(code.test("eq", number, code.word(record, at.INTEGER_VALUE)), missed)


def _guard_same(e: _Entry, record: Value, value: Value, missed: str) -> None:
    code = e.code
    code.require(code.test("eq", value, code.word(record, at.FIRST)), missed)


def _guard_errors(e: _Entry, missed: str) -> None:
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


def _answer(e: _Entry) -> None:
    """Call what the table has: a Python function, or a kernel on arrays made here."""
    code = e.code
    code.call(e.runtime("take"), e.tables)
    hits = e.head("hits")
    code.store(code.add(code.load(hits), 1), hits)
    runner = e.head("runner")
    with code.when(code.test("ne", runner, 0)):
        number = code.add(e.head("positional"), e.head("keywords"))
        result = code.call(e.runtime("vectorcall"), runner, e.arguments, number, 0)
        e.drop_tables()
        code.give(result)
    failed = code.label()
    made = code.variable(0)
    _make_arrays(e, made, failed)
    _run_kernel(e, failed)
    result = _results(e, failed)
    _drop_arrays(e, made, unkept=True)
    e.drop_tables()
    code.give(code.load(result))
    code.go(failed)
    code.begin(failed)
    _drop_arrays(e, made, unkept=False)
    e.drop_tables()
    code.give(0)


def _make_arrays(e: _Entry, made: Value, failed: str) -> None:
    """The arrays of the call; `made` counts them, so that a failure gives up those there are.

    The one place where the entry takes memory: NumPy's own function, with its memory handler.
    """
    code = e.code
    cursor = code.variable(e.place(e.table, e.head("allocations_at")))
    with code.count(e.head("allocations")) as number:
        record = code.load(cursor)
        dtype, rank = code.word(record, at.NEW_DTYPE), code.word(record, at.NEW_RANK)
        shape = code.add(record, 8 * at.NEW_SHAPE)
        strides = code.variable(0)
        with code.when(code.test("ne", code.word(record, at.NEW_STRIDED), 0)):
            code.store(e.place(shape, rank), strides)
        code.call(e.runtime("take"), dtype)
        kind = e.runtime("array_type")
        array = code.call(
            e.runtime("new_array"), kind, dtype, rank, shape, code.load(strides), 0, 0, 0
        )
        code.require(code.test("ne", array, 0), failed)
        code.store(array, e.place(e.made, number))
        code.store(code.add(number, 1), made)
        data = code.load(array, lies.DATA)
        code.store(data, e.place(e.words, code.word(record, at.NEW_SLOT)))
        with code.when(code.test("ne", code.word(record, at.NEW_FILLED), 0)):
            _fill(e, record, data)
        code.store(e.place(record, code.word(record, at.NEW_SIZE)), cursor)


def _fill(e: _Entry, record: Value, data: Value) -> None:
    """Poison, byte by byte: only under `config.check`."""
    code = e.code
    fill = code.word(record, at.NEW_FILL)
    with code.count(code.word(record, at.NEW_BYTES)) as number:
        shift = code.shift_left(code.both(number, 7), 3)
        code.store_byte(code.shift_right(fill, shift), data, number)


def _run_kernel(e: _Entry, failed: str) -> None:
    """Run the kernel over its grid, without the global lock where the work is not tiny."""
    code = e.code
    kernel, status, thread = e.head("kernel"), code.variable(0), code.variable(0)
    counted = e.runtime("kernels_run")
    code.store(code.add(code.load(counted), 1), counted)
    releases = e.head("releases")
    with code.when(code.test("ne", releases, 0)):
        code.store(code.call(e.runtime("save_thread")), thread)
    grid = e.head("grid")
    with code.when(code.test("ne", grid, 0)):
        found = code.call_short(kernel, e.scratch, e.scratch, e.words, 0, grid)
        code.store(found, status)
    combines = code.variable(e.head("combines"))
    with code.when(code.test("ne", code.load(status), 0)):
        code.store(0, combines)
    with code.when(code.test("ne", code.load(combines), 0)):
        found = code.call_short(kernel, e.scratch, e.scratch, e.words, 0, 0)
        code.store(found, status)
    with code.when(code.test("ne", releases, 0)):
        code.call(e.runtime("restore_thread"), code.load(thread))
    found = code.load(status)
    with code.when(code.test("ne", found, 0)):
        code.call_format(
            e.runtime("set_error"), e.runtime("status_error"), e.runtime("status_text"), found
        )
        code.go(failed)
        code.begin(code.label())


def _results(e: _Entry, failed: str) -> Value:
    """The variable of what the call gives; arrays that are kept belong to it from here on."""
    code = e.code
    numbers = e.place(e.table, e.head("results_at"))
    form, result = e.head("form"), code.variable(0)
    tuples, single = code.label(), code.label()
    behind = code.label()
    code.choose(code.test("ne", code.both(form, at.TUPLE), 0), tuples, single)
    code.begin(single)
    only = code.word(e.made, code.word(numbers, 0))
    code.store(_as_result(e, form, only), result)
    code.go(behind)
    code.begin(tuples)
    total = e.head("results")
    together = code.call(e.runtime("new_tuple"), total)
    code.require(code.test("ne", together, 0), failed)
    code.store(together, result)
    with code.count(total) as number:
        item = _as_result(e, form, code.word(e.made, code.word(numbers, number)))
        code.call(e.runtime("set_item"), together, number, item)
        with code.when(code.test("eq", item, 0)):  # no memory: the tuple ends with what it has
            code.call(e.runtime("drop"), together)
            code.store(0, result)
            code.go(behind)
            code.begin(code.label())
    code.go(behind)
    code.begin(behind)
    return result


def _as_result(e: _Entry, form: Value, array: Value) -> Value:
    """The array, or the NumPy scalar in its place."""
    code = e.code
    result = code.variable(array)
    with code.when(code.test("ne", code.both(form, at.SCALARS), 0)):
        code.store(code.call(e.runtime("as_scalar"), array), result)
    return code.load(result)


def _drop_arrays(e: _Entry, made: Value, unkept: bool) -> None:
    """Give up the arrays that were made; only those that are no results where `unkept` says so."""
    code = e.code
    cursor = code.variable(e.place(e.table, e.head("allocations_at")))
    with code.count(code.load(made)) as number:
        record = code.load(cursor)
        ours = code.variable(1)
        if unkept:
            with code.when(code.test("ne", code.word(record, at.NEW_KEPT), 0)):
                code.store(0, ours)
        with code.when(code.test("ne", code.load(ours), 0)):
            code.call(e.runtime("drop"), code.word(e.made, number))
        code.store(e.place(record, code.word(record, at.NEW_SIZE)), cursor)
