"""Random functions that read and change state outside themselves, called in turn with changes.

A case is the text of a module and of steps: calls of its function, and changes from outside before
them or, by another thread, while one runs. The steps are taken in two fresh worlds, where the
function is Python's and where it is compiled; after each, results, errors, what was printed and
all the state of the modules must be alike.

Everything changes between calls: names, cells, attributes, entries, arrays, functions, classes.
Cases that NumPy runs are counted by reason; without a statement of `left` or a value of an array
that is asked for, there is none.
"""

import ast
import contextlib
import io
import linecache
import os
import random
import re
import sys
import threading
import types
import warnings
from collections import Counter
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import AxiomError, FallbackWarning
from tests.generator import between, matches, object_places, pieces, places, writes
from tests.generator.alike import FAR, Comparison, both_of
from tests.generator.draws import Draws
from tests.generator.left import LEFT
from tests.generator.sequences import way

MODULE = "generated_module"
CELLS = ("c", "flag", "cell", "notes")
ARRAYS = ("np.arange(5.0)",) * 4 + (
    *("np.arange(5)", "np.arange(5.0) + 4", "np.ones((2, 5))", "np.arange(5, dtype='f4')"),
    *("np.arange(5.0)[::-1]", "np.zeros(5)", "np.arange(3.0)"),
)
FORMS = ("function", "function", "method", "closure", "helper", "inner")
READS = places.READS | object_places.READS
CHANGES = places.CHANGES | object_places.CHANGES
NOT_COMPILED = tuple(text for why, found in LEFT.items() for text in found if why != "syntax")
SHARES = Counter()
"""How many cases only read, how many change something, and how many of each were followed."""
_QUIET = np.get_printoptions(), dict.fromkeys(np.geterr(), "ignore")


class Case(NamedTuple):
    """A function by its form, statements and results, and steps; `strict` is the option of jit.

    `given` are names of the module that are also those of its parameters.
    """

    form: str
    statements: tuple
    returned: str
    steps: tuple
    strict: bool = False
    changes: bool = True
    given: tuple = ()

    def source(self):
        """The module as text."""
        text = "\n".join((*self.statements, self.returned))
        given = self._parameters()
        body = [*_indented(_declared(self, text))]
        body += _indented("\n".join((*self.statements, f"return {self.returned}")))
        whole = "\n".join(["@wrap", f"def f({given}):", *body])
        if self.form == "helper":
            whole = "\n".join(
                [
                    f"def helper({given}):",
                    *body,
                    *f"""

@wrap
def f({given}):
    return helper({given})""".splitlines(),
                ]
            )
        elif self.form == "inner":
            inner = [f"def inner_f({given}):", *body, f"return inner_f({given})"]
            whole = "\n".join(["@wrap", f"def f({given}):", *_indented("\n".join(inner))])
        elif self.form == "method":
            whole = pieces.METHODS.format(function="\n".join(_indented(whole)))
        elif self.form == "closure":
            whole = pieces.CLOSURE.format(function="\n".join(_indented(whole)))
        return "\n\n".join(
            (pieces.IMPORTS.strip(), *_pieces("\n".join((whole, *self.steps))), whole)
        )

    def _parameters(self):
        used = "state" in _names("\n".join((*self.statements, self.returned)), ast.Load)
        names = ["self"] * (self.form == "method") + ["x"] + ["state"] * used
        return ", ".join((*names, *self.given))

    def __str__(self):
        model = pieces.PIECES["Model"] + "\n\n"
        text = self.source().replace(pieces.IMPORTS.strip(), "").replace(model, "").strip()
        steps = "\n".join(self.steps)
        parts = ", ".join(f"{name}={value!r}" for name, value in self._asdict().items())
        return f"{text}\n\n{steps}\n\nassert failure(Case({parts})) is None\n"


def _indented(text):
    return [f"    {line}" if line else "" for line in text.splitlines()]


def _declared(case, text):
    """The declarations of names that a function assigns."""
    stored = _names(text, ast.Store, ast.Del)
    lines = [f"global {name}" for name in pieces.PIECES if name in stored]
    if case.form == "closure":
        lines += [f"nonlocal {name}" for name in CELLS if name in stored]
    return "\n".join(lines)


def _names(text, *contexts):
    """The names that a text uses in these ways."""
    nodes = list(ast.walk(ast.parse(text)))
    aliases = {node.asname for node in nodes if isinstance(node, ast.alias)}
    names = {
        node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, contexts)
    }
    return names | aliases


def _pieces(text):
    """The statements of a module that a text needs, in order."""
    wanted, seen = set(re.findall(r"\w+", text)), set()
    while wanted - seen:
        found = (wanted - seen) & pieces.PIECES.keys()
        seen |= wanted
        wanted |= {word for name in found for word in re.findall(r"\w+", pieces.PIECES[name])}
    own = {"S"} if "\nS = Own()" in text else set()
    return [source for name, source in pieces.PIECES.items() if name in seen - own]


def _process():
    """The state of the process that functions may change."""
    environment = os.environ.get("GENERATED", "")
    options = np.get_printoptions(), np.geterr()
    return np.random.get_state(), random.getstate(), environment, options


def _put(states):
    generator, other, os.environ["GENERATED"], options = states
    np.random.set_state(generator)
    random.setstate(other)
    np.set_printoptions(**options[0])
    np.seterr(**options[1])


class World:
    """A module and the state of the process that belongs to it."""

    def __init__(self, case, wrap):
        """Run the text of the module with a wrapper of its function."""
        self.text = case.source()
        self.file = f"<{MODULE}>"
        self.module = types.ModuleType(MODULE)
        self.space = vars(self.module)
        self.space |= {"wrap": wrap, "meanwhile": self.meanwhile}
        self.states = np.random.RandomState(5).get_state(), random.Random(5).getstate(), "", _QUIET
        self.printed, self.refused = "", False
        with self._entered():
            exec(compile(self.text, self.file, "exec"), self.space)
        function = self.space["Own" if case.form == "method" else "f"]
        function = vars(function)["f"] if case.form == "method" else function
        plain = getattr(function, "__wrapped__", function)
        names = dict(zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True))
        self.space["CELLS"] = names

    @contextlib.contextmanager
    def _entered(self):
        """The process as this world knows it."""
        before = _process()
        _put(self.states)
        lines = self.text.splitlines(keepends=True)
        linecache.cache[self.file] = (len(self.text), None, lines, self.file)
        sys.modules[MODULE] = self.module
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                yield
        finally:
            self.printed = out.getvalue()
            self.states = _process()
            _put(before)
            del sys.modules[MODULE]

    def step(self, text):
        """Take a step; the error that it raises, or None."""
        file = f"<step {text!r}>"  # so that functions which it makes have a text
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        with self._entered():
            try:
                exec(compile(text, file, "exec"), self.space)
            except Exception as error:
                return error.with_traceback(None)
        return None

    def meanwhile(self, line, change, call):
        """Call, while another thread makes a change after so many lines of the function.

        Results depend on when the change comes, and are dropped.
        """
        count = 0

        def changing():
            nonlocal count
            count = sys.maxsize
            thread = threading.Thread(target=self._change, args=(change,))
            thread.start()
            thread.join()

        def trace(frame, event, argument):
            nonlocal count
            if frame.f_code.co_filename != self.file or frame.f_code.co_name != "f":
                return None
            count += event == "line"
            if line <= count < sys.maxsize:
                changing()
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            with patch.object(config, "check", False):  # the thread changes what is traced
                call()
        finally:
            sys.settrace(before)
            if count < sys.maxsize:
                changing()

    def _change(self, text):
        with contextlib.suppress(Exception):  # the function may have taken away what it changes
            exec(text, self.space)

    def state(self):
        """The names of the module and the generators of the process."""
        left = ("wrap", "meanwhile", "__builtins__", "CELLS", "__warningregistry__")
        kept = {name: value for name, value in self.space.items() if name not in left}
        return kept, self.space["CELLS"], self.states


def failure(case, count=False):
    """How a compiled function differs from Python's, as text; None where it does not.

    With `count`, the case is one of `SHARES`.
    """
    plain = World(case, lambda function: function)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        compiled = World(case, lambda function: axiomjit.jit(function, strict=case.strict))
        before = stats()["fallbacks"]
        found = _first_difference(case, plain, compiled)
    said = [str(one.message) for one in caught if issubclass(one.category, FallbackWarning)]
    if said and count:
        writes.FALLBACKS[writes._reason(said[0])] += 1
    left = bool(said) or compiled.refused or stats()["fallbacks"] > before
    if count:
        SHARES["changing" if case.changes else "reading", left] += 1
    if not found and len(said) > 1 and len({text.partition(":")[0] for text in said}) == 1:
        return f"{len(said)} warnings"
    return found


def _first_difference(case, plain, compiled):
    far = FAR_OF_SINGLE if "'f4'" in "".join(case.steps) else FAR
    for number, text in enumerate(case.steps):
        want = plain.step(text)
        if case.strict:
            untouched = World(case, lambda function: function)
            for before in case.steps[:number]:
                untouched.step(before)
        got = compiled.step(text)
        if case.strict and isinstance(got, AxiomError):
            compiled.refused = True
            untouched.step(text.rpartition("r = ")[0])  # the argument, where it has a name
            change = re.search(r"meanwhile\(\d+, (.*), lambda: ", text)
            if change:  # the other thread has made it
                untouched.step(ast.literal_eval(change.group(1)))
            found = _difference(untouched, compiled)
            return found and f"step {number}, refused: {found}"
        if "meanwhile" in text and (want or got):
            return None  # an error depends on when the change comes
        found = _outcome(text, want, got, plain, compiled) or _difference(plain, compiled, far)
        if found and "meanwhile" in text and _is_of_another_moment(case, number, compiled):
            return None
        if found:
            return f"step {number}: {found}"
    return None


def _is_of_another_moment(case, number, compiled):
    """True if a world is as Python leaves it where the other thread comes before or after."""
    found = re.search(r"r = meanwhile\(\d+, ('.*'|\".*\"), lambda: (.*)\)$", case.steps[number])
    change, call = ast.literal_eval(found.group(1)), found.group(2)
    first = case.steps[number][: found.start()]
    for text in (f"{first}{change}\n{call}\nr = None", f"{first}{call}\n{change}\nr = None"):
        world = World(case, lambda function: function)
        for before in (*case.steps[:number], text):
            world.step(before)
        if not _difference(world, compiled):
            return True
    return False


def _outcome(text, want, got, plain, compiled):
    """How errors and printed text differ."""
    # Which of two faults is found first is not compared, nor the words of errors of arrays.
    either = all(isinstance(e, ValueError | TypeError | IndexError) for e in (want, got))
    same = got is want or both_of(MODULE, type(got), type(want)) or isinstance(got, type(want))
    if not (either or same):
        return f"raised {got!r}, not {want!r}"
    lines = [world.printed.splitlines() for world in (compiled, plain)]
    if "meanwhile" in text:
        lines = [sorted("".join(one)) for one in lines]
    same = all(map(_same_line, *lines)) and len(lines[0]) == len(lines[1])
    return None if same else f"printed {lines[0]}, not {lines[1]}"


def _same_line(one, other):
    """Whether two lines are equal, but for the last digits of numbers: sums have another order."""
    if one == other:
        return True
    texts = [NUMBER.split(line) for line in (one, other)]
    numbers = [list(map(float, NUMBER.findall(line))) for line in (one, other)]
    return texts[0] == texts[1] and np.allclose(*numbers, rtol=1e-12, atol=0, equal_nan=True)


NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


FAR_OF_SINGLE = 1e-5
"""The relative distance of doubles that were computed from sums of float32."""


def _difference(plain, compiled, far=FAR):
    """How the state of two worlds differs."""
    try:
        return Comparison(MODULE, far).differs(compiled.state(), plain.state(), "state")
    except AxiomError as error:  # a traced value that was kept
        return f"state holds what raises {error}"


def draw(seed, index):
    """The case of a number."""
    draws = Draws(seed, index)
    form = draws.pick(FORMS)
    changes = draws.chance(0.6)
    used = draws.order(CHANGES.keys() if changes else READS)[: draws.between(1, 3)]
    if form == "method":
        used = [place for place in used if place != "f"] or ["{S}.k"]
    elif draws.chance(0.5):
        used = [place for place in used if "{S}" not in place] or ["W"]
    statements, v, changing = [], "x", False
    for number in range(draws.between(1, 5)):
        text = _statement(draws, form, used, changes)
        changing |= text in ALL_CHANGES
        text = _filled(text, form, v, f"v{number}")
        if draws.chance(0.15) and "\ndef " not in text:
            text = draws.pick(BLOCKS).format(body="\n".join(_indented(text)))
            if re.search(rf"\bv{number}\b", text):
                text = f"v{number} = {v}\n{text}"
        if re.search(rf"\bv{number}\b *=|for v{number} ", text):
            v = f"v{number}"
        statements.append(text)
    returned = _returned(draws, form, v, used)
    given = _given(draws, "\n".join((*statements, returned)))
    steps = _steps(draws, form, used, (*statements, returned), changing, given)
    strict = draws.chance(0.2) and "meanwhile" not in steps[0]
    return Case(form, tuple(statements), returned, steps, strict, changing, given)


def _given(draws, text):
    """Some of the names of the module that a function reads and does not assign, as parameters."""
    if draws.chance(0.6):
        return ()
    known = sorted(_names(text, ast.Load) & pieces.PIECES.keys())
    stored = _names(text, ast.Store, ast.Del)
    return tuple(name for name in known if name not in stored and draws.chance(0.7))


ALL_CHANGES = {*places.CELL_CHANGES, *(c for found in CHANGES.values() for c in found)}
BLOCKS = (
    "if k > 2:\n{body}",
    "if x.ndim == 1:\n{body}",
    "if len(x) > 4:\n{body}",
    "if x.max() > 2:\n{body}",
    "if not x.all():\n{body}",
    "for _ in range(2):\n{body}",
    "try:\n{body}\nfinally:\n    LOG.append('end')",
    "try:\n{body}\nexcept Trouble:\n    LOG.append('caught')",
    "with U:\n{body}",
    "match STATE:\n  case {{'n': int(own), **rest}} if rest:\n{body}\n  case _:\n    LOG.append(0)",
    "if STATE['n'] and not once:\n    pass\nelse:\n{body}",
)
"""Statements around others."""


def _statement(draws, form, used, changes):
    """A statement."""
    place = draws.pick(used)
    cells = form == "closure" and draws.chance(0.4)
    luck = draws.uniform()
    for share, table in SHARES_OF:
        if luck < share:
            return draws.pick(table)
        luck -= share
    if changes and luck < 0.4:
        return draws.pick(places.CELL_CHANGES if cells else CHANGES.get(place, places.OWN))
    reads = places.CELL_READS if cells else READS.get(place, ())
    return f"{{n}} = {draws.pick(reads)}" if reads else draws.pick(places.OWN)


SHARES_OF = (
    (0.10, places.OWN),
    (0.03, places.ARGUMENT),
    (0.06, places.VALUES),
    (0.04, places.FAULTS),
    (0.04, places.GIVEN),
    (0.02, NOT_COMPILED),
    (0.04, matches.MATCHES),
)
"""Statements that belong to no place, and how often they come."""


def _filled(text, form, v, n):
    names = {"S": "self" if form == "method" else "S", "v": v, "n": n}
    return re.sub(r"\{([Svn])\}", lambda found: names[found[1]], text)


RETURNED = (
    *("STATE", "LOG", "W", "k", "[W, W]", "STATE['seen']", "k * 2", "f'{k}'", "len(LOG)"),
    *("(LOG, STATE)", "{'w': W, 'k': k}", "None", "once", "W.sum()", "[]", "PARTS[0]", "U", "N.b"),
    *("(k, W.max(), 1.5)", "k + 0.5", "type(k)", "Vec", "twice", "HOLDER[1]", "D", "np.float64(2)"),
)
"""Values from outside, numbers, and what is made anew."""


def _returned(draws, form, v, used):
    """The expression that is returned."""
    kept = [place for place in used if place in READS]
    other = _filled(draws.pick(READS[draws.pick(kept)]), form, v, "") if kept else "k"
    forms = (v, v, v, f"({v}, {v} + 1)", f"{v}.sum()", f"({v}, {other})", f"{{'a': {v}}}", other)
    if draws.chance(0.2):
        return f"({v}, {draws.pick(RETURNED)})"
    return draws.pick(forms) if draws.chance(0.95) else draws.pick(RETURNED)


def _steps(draws, form, used, statements, changing, names):
    f = "S.f" if form == "method" else "f"
    text = "\n".join(statements)
    given = ", given" * ("state" in _names(text, ast.Load))
    given = "".join((given, *(f", {name}" for name in names)))
    places_used = [*used, *["cells"] * (form == "closure")]
    places_used += ["given"] * (", given" in given)
    places_used = [p for p in places_used if p in between.CHANGES] or ["k"]
    steps = []
    for number in range(draws.between(2, 7)):
        change = draws.pick(between.CHANGES[draws.pick(places_used)])
        cell = re.search(r"CELLS\['(\w+)'\]", change)
        known = cell is None or re.search(rf"\b{cell[1]}\b", text)
        if number and known and draws.chance(0.6):
            steps.append(change)
        if number and draws.chance(0.05):
            steps.append("if isinstance(r, np.ndarray):\n    r[...] = 9")
        argument = draws.pick(ARRAYS[:1] if number == 0 or draws.chance(0.5) else ARRAYS)
        if draws.chance(0.1):
            # What a thread changes meanwhile and the function changes, too, has no order.
            known = [p for p in places_used if p in between.MEANWHILE and not changing]
            draws_too = "random" in text  # the order of draws by two threads is open
            others = [c for c in between.ALWAYS_MEANWHILE if not (draws_too and "random" in c)]
            change = draws.pick(between.MEANWHILE[draws.pick(known)] if known else others)
            call = f"meanwhile({draws.between(1, 3)}, {change!r}, lambda: {f}({argument}{given}))"
            steps.append(f"r = {call}")
        elif draws.chance(0.3):
            steps.append(f"x = {argument}\nr = {f}(x{given})")
        else:
            steps.append(f"r = {f}({argument}{given})")
    return tuple(steps)


def shortest(case, found=None):
    """The case with as few steps and statements as still fail in the same way."""
    kind = _kind(found or failure(case))
    for name in ("steps", "statements"):
        parts = getattr(case, name)
        for k in reversed(range(len(parts))):
            for less in (*_simpler(parts[k]), None):
                new = (*parts[:k], *[less] * (less is not None), *parts[k + 1 :])
                short = case._replace(**{name: new})
                if _same_failure(short, kind):
                    return shortest(short, failure(short))
    for simple in ("x", "x + 1"):
        short = case._replace(returned=simple)
        if case.returned not in ("x", "x + 1") and _same_failure(short, kind):
            return shortest(short, failure(short))
    return case


def _simpler(text):
    """The body of a block, without its condition."""
    head, _, rest = text.partition("\n")
    lines = rest.split("\n")
    is_block = head.endswith(":") and not head.startswith("match ")
    if is_block and rest and all(line.startswith("    ") for line in lines):
        yield "\n".join(line[4:] for line in lines)


def _kind(found):
    return re.sub(r"[\d\W]+", " ", found.partition("\n")[0])[:30]


def _same_failure(case, kind):
    """Whether a case fails in this way and means something in Python."""
    plain = World(case, lambda function: function)
    errors = map(plain.step, case.steps)
    if any(isinstance(error, NameError | SyntaxError) for error in errors):
        return False
    found = failure(case)
    return found is not None and _kind(found) == kind


def campaign(seed, first, count, name):
    """Run `count` cases in one way; return the failures, as text."""
    failures = []
    with way(name), patch.object(config, "_fallback", "warn"):
        for index in range(first, first + count):
            case = draw(seed, index)
            found = failure(case, count=True)
            if found:
                short = shortest(case, found)
                failures.append(f"{name}, seed {seed}, case {index}: {failure(short)}\n{short}")
    return failures
