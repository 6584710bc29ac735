"""The part of the native entry that answers a guarded call: it runs a plan, step by step."""

from __future__ import annotations

from axiomjit.runtime.entry import layout as at
from axiomjit.runtime.entry import structures as lies
from axiomjit.runtime.entry.builder import Value
from axiomjit.runtime.entry.entry_values import Entry


def answer(e: Entry) -> None:
    """Call what the table has: a Python function, or the steps of a plan."""
    code = e.code
    code.call(e.runtime("take"), e.tables)
    hits = e.head("hits")
    code.store(code.add(code.load(hits), 1), hits)
    runner = e.head("runner")
    with code.when(code.test("ne", runner, 0)):
        e.drop_memory()
        number = code.add(e.head("positional"), e.head("keywords"))
        result = code.call(e.runtime("vectorcall"), runner, e.arguments, number, 0)
        e.drop_tables()
        code.give(result)
    failed = code.label()
    with code.count(e.head("places"), first=e.head("owned")) as number:
        code.store(0, e.place(e.objects, number))
    _run_steps(e, failed)
    result = _results(e, failed)
    _drop_all(e)
    e.drop_memory()
    e.drop_tables()
    code.give(code.load(result))
    code.go(failed)
    code.begin(failed)
    _drop_all(e)
    e.drop_memory()
    _answer_otherwise(e)
    e.drop_tables()
    code.give(0)


def _run_steps(e: Entry, failed: str) -> None:
    """Every step in order."""
    code = e.code
    cursor = code.variable(e.place(e.table, e.head("steps_at")))
    kinds = {
        at.MAKE: _make_array,
        at.TAKE: _take_memory,
        at.VIEW: _view_array,
        at.RUN: _run_kernel,
        at.CALL: _call_python,
        at.DROP: _drop_array,
        at.SHARE: _share_object,
        at.GIVE: _give_what_is_made,
    }
    with code.count(e.head("steps")):
        record = code.load(cursor)
        following = code.label()
        for kind, do in kinds.items():
            with code.when(code.test("eq", code.word(record, at.KIND), kind)):
                do(e, record, failed)
                code.go(following)
                code.begin(code.label())
        code.go(following)
        code.begin(following)
        code.store(e.place(record, code.word(record, at.SIZE)), cursor)


def _make_array(e: Entry, record: Value, failed: str) -> None:
    """An array in memory of its own."""
    _new_array(e, record, "0", "0", failed)


def _take_memory(e: Entry, record: Value, failed: str) -> None:
    """An array in the memory of another one, whose place is empty then."""
    code = e.code
    base = code.word(record, at.NEW_BASE)
    data, flags = code.word(e.values, base), code.word(record, at.NEW_FLAGS)
    array = _new_array(e, record, data, flags, failed)
    owner = code.word(e.objects, base)
    code.store(0, e.place(e.objects, base))
    _hold_base(e, array, owner, failed)


def _view_array(e: Entry, record: Value, failed: str) -> None:
    """A view of another array, from an offset on."""
    code = e.code
    base = code.word(record, at.NEW_BASE)
    data = code.add(code.word(e.values, base), code.word(record, at.NEW_OFFSET))
    array = _new_array(e, record, data, code.word(record, at.NEW_FLAGS), failed)
    owner = code.word(e.objects, base)
    code.call(e.runtime("take"), owner)
    _hold_base(e, array, owner, failed)


def _hold_base(e: Entry, array: Value, owner: Value, failed: str) -> None:
    """Let an array hold the owner of its memory, whose reference it gets in any case."""
    found = e.code.call_short(e.runtime("set_base"), array, owner)
    e.code.require(e.code.test("eq", found, 0), failed)


def _new_array(e: Entry, record: Value, given: Value, flags: Value, failed: str) -> Value:
    """An array at an address; at 0 NumPy takes memory, with its own handler.

    The one place where the entry makes arrays.
    """
    code = e.code
    dtype, rank = code.word(record, at.NEW_DTYPE), code.word(record, at.NEW_RANK)
    shape = code.add(record, 8 * at.NEW_SHAPE)
    strides = code.variable(0)
    with code.when(code.test("ne", code.word(record, at.NEW_STRIDED), 0)):
        code.store(e.place(shape, rank), strides)
    code.call(e.runtime("take"), dtype)
    kind, steps = e.runtime("array_type"), code.load(strides)
    array = code.call(e.runtime("new_array"), kind, dtype, rank, shape, steps, given, flags, 0)
    code.require(code.test("ne", array, 0), failed)
    data = code.load(array, lies.DATA)
    e.fill_place(code.word(record, at.NEW_PLACE), array, data)
    with code.when(code.test("ne", code.word(record, at.NEW_FILLED), 0)):
        _fill(e, record, data)
    return array


def _fill(e: Entry, record: Value, data: Value) -> None:
    """Poison, byte by byte: only under `config.check`."""
    code = e.code
    fill = code.word(record, at.NEW_FILL)
    with code.count(code.word(record, at.NEW_BYTES)) as number:
        shift = code.shift_left(code.both(number, 7), 3)
        code.store_byte(code.shift_right(fill, shift), data, number)


def _run_kernel(e: Entry, record: Value, failed: str) -> None:
    """Run a kernel over its grid; where it `releases`, without the global lock.

    Then signals are heard: a plan may go on for long.
    """
    code = e.code
    _fill_block(e, record)
    kernel, status = code.word(record, at.RUN_KERNEL), code.variable(0)
    thread, counted = code.variable(0), e.runtime("kernels_run")
    code.store(code.add(code.load(counted), 1), counted)
    releases = code.word(record, at.RUN_RELEASES)
    with code.when(code.test("ne", releases, 0)):
        code.store(code.call(e.runtime("save_thread")), thread)
    grid = code.word(record, at.RUN_GRID)
    with code.when(code.test("ne", grid, 0)):
        found = code.call_short(kernel, e.scratch, e.scratch, e.block, 0, grid)
        code.store(found, status)
    combines = code.variable(code.word(record, at.RUN_COMBINES))
    with code.when(code.test("ne", code.load(status), 0)):
        code.store(0, combines)
    with code.when(code.test("ne", code.load(combines), 0)):
        found = code.call_short(kernel, e.scratch, e.scratch, e.block, 0, 0)
        code.store(found, status)
    with code.when(code.test("ne", releases, 0)):
        code.call(e.runtime("restore_thread"), code.load(thread))
        stopped = code.call_short(e.runtime("check_signals"))
        code.require(code.test("eq", stopped, 0), failed)
    found = code.load(status)
    with code.when(code.test("ne", found, 0)):
        code.call_format(
            e.runtime("set_error"), e.runtime("status_error"), e.runtime("status_text"), found
        )
        code.go(failed)
        code.begin(code.label())


def _fill_block(e: Entry, record: Value) -> None:
    """The words that all calls have in common, then those from places."""
    code = e.code
    template, words = code.add(record, 8 * at.RUN_BLOCK), code.word(record, at.RUN_WORDS)
    with code.count(words) as number:
        code.store(code.word(template, number), e.place(e.block, number))
    cursor = code.variable(e.place(template, words))
    with code.count(code.word(record, at.RUN_FILLS)):
        pair = code.load(cursor)
        value = code.word(e.values, code.word(pair, 1))
        code.store(value, e.place(e.block, code.word(pair, 0)))
        code.store(code.add(pair, 16), cursor)


def _call_python(e: Entry, record: Value, failed: str) -> None:
    """Call a function with objects from places, and put the arrays that it gives into places."""
    code = e.code
    made, results, targets = _made_in_python(e, record, failed)
    with code.count(results) as number:
        one = code.load(e.place(made, number), lies.TUPLE_ITEMS)
        code.call(e.runtime("take"), one)
        e.fill_place(code.word(targets, number), one, code.load(one, lies.DATA))
    code.call(e.runtime("drop"), made)


def _give_what_is_made(e: Entry, record: Value, failed: str) -> None:
    """Call a function with objects from places, and put what it gives, entire, into one."""
    code = e.code
    made, _, targets = _made_in_python(e, record, failed)
    code.store(made, e.place(e.objects, code.word(targets, 0)))


def _made_in_python(e: Entry, record: Value, failed: str) -> tuple[Value, Value, Value]:
    """What a function gives for objects from places; how many results, and where their places."""
    code = e.code
    places = code.add(record, 8 * at.CALL_PLACES)
    count = code.word(record, at.CALL_OPERANDS)
    with code.count(count) as number:
        operand = code.word(e.objects, code.word(places, number))
        code.store(operand, e.place(e.operands, number))
    function = code.word(record, at.CALL_FUNCTION)
    made = code.call(e.runtime("vectorcall"), function, e.operands, count, 0)
    code.require(code.test("ne", made, 0), failed)
    return made, code.word(record, at.CALL_RESULTS), e.place(places, count)


def _share_object(e: Entry, record: Value, failed: str) -> None:
    code = e.code
    source = code.word(record, at.SHARE_SOURCE)
    thing = code.word(e.objects, source)
    code.call(e.runtime("take"), thing)
    e.fill_place(code.word(record, at.SHARE_PLACE), thing, code.word(e.values, source))


def _drop_array(e: Entry, record: Value, failed: str) -> None:
    code = e.code
    place = code.word(record, at.DROP_PLACE)
    array = code.word(e.objects, place)
    code.store(0, e.place(e.objects, place))
    code.call(e.runtime("drop"), array)


def _results(e: Entry, failed: str) -> Value:
    """The variable of what the call gives; arrays that are results leave their places."""
    code = e.code
    numbers = e.place(e.table, e.head("results_at"))
    form, result = e.head("form"), code.variable(0)
    tuples, single = code.label(), code.label()
    behind = code.label()
    with code.when(code.test("ne", code.both(form, at.NOTHING), 0)):
        nothing = e.runtime("nothing")
        code.call(e.runtime("take"), nothing)
        code.store(nothing, result)
        code.go(behind)
        code.begin(code.label())
    code.choose(code.test("ne", code.both(form, at.TUPLE), 0), tuples, single)
    code.begin(single)
    code.store(_as_result(e, form, code.word(numbers, 0)), result)
    code.go(behind)
    code.begin(tuples)
    total = e.head("results")
    together = code.call(e.runtime("new_tuple"), total)
    code.require(code.test("ne", together, 0), failed)
    code.store(together, result)
    with code.count(total) as number:
        item = _as_result(e, form, code.word(numbers, number))
        code.call(e.runtime("set_item"), together, number, item)
        with code.when(code.test("eq", item, 0)):  # no memory: the tuple ends with what it has
            code.call(e.runtime("drop"), together)
            code.store(0, result)
            code.go(behind)
            code.begin(code.label())
    code.go(behind)
    code.begin(behind)
    return result


def _as_result(e: Entry, form: Value, place: Value) -> Value:
    """The array at a place, or the NumPy scalar instead; the place is empty then."""
    code = e.code
    result = code.variable(code.word(e.objects, place))
    code.store(0, e.place(e.objects, place))
    with code.when(code.test("ne", code.both(form, at.SCALARS), 0)):
        code.store(code.call(e.runtime("as_scalar"), code.load(result)), result)
    return code.load(result)


def _drop_all(e: Entry) -> None:
    """Give up the arrays that are still in their places."""
    code = e.code
    with code.count(e.head("places"), first=e.head("owned")) as number:
        array = code.word(e.objects, number)
        with code.when(code.test("ne", array, 0)):
            code.call(e.runtime("drop"), array)


def _answer_otherwise(e: Entry) -> None:
    """Where the plan has said by an error that it does not fit, let the table's function answer."""
    code = e.code
    otherwise = e.head("otherwise")
    with code.when(code.test("ne", otherwise, 0)):
        found = code.call_short(e.runtime("is_error"), e.head("errors"))
        with code.when(code.test("ne", found, 0)):
            code.call(e.runtime("clear_error"))
            result = code.call(e.runtime("vectorcall"), otherwise, e.arguments, e.given, e.names)
            e.drop_tables()
            code.give(result)
