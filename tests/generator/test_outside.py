"""Functions with state outside them mean what they mean in Python, whatever changes it."""

import pytest

from tests.generator import outside
from tests.generator.budget import budget
from tests.generator.outside import Case, campaign, draw, failure
from tests.generator.sequences import way

CASES = budget(80)


@pytest.mark.parametrize(("name", "share"), [("evaluated", 1.0), ("compiled", 0.03)])
def test_state_outside_is_that_of_python(name, share):
    outside.SHARES.clear()
    count = int(CASES * share)
    failures = campaign(1, 0, count, name)
    assert not failures, "\n\n".join(failures[:3])
    if name == "evaluated":  # both sides are tested
        assert outside.SHARES["reading", False] >= count / 5
        assert outside.SHARES["changing", False] >= count / 3


def test_cases_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)


def test_every_statement_is_drawn():
    cases = [draw(2, k) for k in range(4500)]
    text = "\n".join("\n".join((*case.statements, *case.steps)) for case in cases)
    assert "meanwhile(" in text
    for tables in (outside.CHANGES, outside.READS):
        for place, found in tables.items():
            drawn = [one for one in found if outside._filled(one, "", "x", "v0") in text]
            assert len(drawn) >= len(found) / 3, place


CALL = "r = f(np.arange(5.0))"
METHOD = "r = S.f(np.arange(5.0))"
FOUND = {
    "a format that is wrong for an array, after a text was printed": Case(
        "function",
        ("print('o')", "print(f'{x.max():.2f} {k:>5}')"),
        "x",
        ("k = np.arange(5.0)", CALL, CALL, "k = 3", CALL),
    ),
    "the memory of an array that is asked for": Case(
        "function",
        ("v0 = x * (1 if W[0] else 2)", "memoryview(W)[0] = 5.0"),
        "v0",
        (CALL,),
        strict=True,
    ),
    "an integer of more than 64 bits whose sum is not used": Case(
        "helper",
        ("v0 = x + (k if k > 2 else -k)",),
        "x",
        ("k = 10**20", "r = f(np.arange(5))", "k = 3", "r = f(np.arange(5))"),
        strict=True,
    ),
    "a write into a view before its array is asked for": Case(
        "function",
        ("part = W[1:]\npart[0] = 5", "v0 = x * (1 if W[0] else 2)"),
        "v0",
        (CALL, CALL),
        strict=True,
    ),
    "an entry that becomes the array of another argument": Case(
        "function",
        ("v0 = x + (state['w'] is W)",),
        "v0",
        ("r = f(np.ones(5), given, W)",) * 2 + ("given['w'] = W", "r = f(np.ones(5), given, W)"),
        given=("W",),
    ),
    "a list that is shuffled, under strict": Case(
        "function",
        ("RNG.shuffle(W)",),
        "x",
        ("W = W.tolist()", "r = f(np.arange(5.0), W)"),
        strict=True,
        given=("W",),
    ),
    "an OrderedDict whose keys are put in another order": Case(
        "function",
        ("v0 = x + next(iter(ORDER.values()))",),
        "v0",
        (CALL, CALL, "ORDER.move_to_end('a')", CALL),
    ),
    "a bound that is read after it was written": Case(
        "function", ("v0 = x + W", "W[2] = 7"), "v0", (CALL, CALL)
    ),
    "a branch that is taken once": Case(
        "method",
        ("v0 = x * 100 if self.first else x", "self.first = False"),
        "v0",
        (METHOD, METHOD),
    ),
    "what another thread adds": Case(
        "function",
        ("v0 = x + W", "LOG.append(1)"),
        "v0",
        ("r = meanwhile(1, 'W += 1', lambda: f(np.arange(5.0)))", CALL),
    ),
    "a method that is got by its name": Case(
        "method", ("operator.attrgetter('count')(self)(x)",), "x", (METHOD, METHOD)
    ),
    "the order of a sum of float32": Case(
        "function",
        ("v0 = np.sqrt(np.abs(x * 3 * 4))",),
        "v0.sum()",
        ("r = f(np.arange(5, dtype='f4'))",),
    ),
    "a generator": Case("function", ("v0 = x * next(G)",), "v0", (CALL, CALL)),
    "the order of an OrderedDict": Case(
        "function",
        ("v0 = x + next(iter(ORDER.values()))",),
        "v0",
        (
            CALL,
            "ORDER.move_to_end('a')",
            CALL,
        ),
    ),
    "elements that decide": Case(
        "function",
        ("v0 = x * (1 if W[0] else 2)",),
        "v0",
        (
            CALL,
            "W += 1",
            CALL,
        ),
    ),
    "one list under two names": Case(
        "function", ("LOG.append(1)\nv0 = x + len(ALIAS)",), "v0", (CALL, "ALIAS = [1, 2]", CALL)
    ),
    "one dict under two names": Case(
        "function",
        ("STATE['n'] = 7\nv0 = x + SHARED['state']['n']",),
        "v0",
        (CALL, "SHARED['state'] = {'n': 1}", CALL),
    ),
    "two dicts that become one": Case(
        "function",
        ("STATE['n'] = 7\nv0 = x + SHARED['state']['n']",),
        "v0",
        ("SHARED['state'] = {'n': 1}", CALL, "SHARED['state'] = STATE\nSTATE['n'] = 1", CALL),
    ),
    "a count in a dict": Case(
        "function", ("STATE['n'] += 1\nv0 = x * STATE['n']",), "v0", (CALL, CALL)
    ),
    "a function that is defined again": Case(
        "function", ("v0 = twice(x)",), "v0", (CALL, "def twice(v):\n    return v * 4", CALL)
    ),
    "a class that is asked for": Case(
        "function",
        ("v0 = x * (2 if type(B).__name__ == 'Both' else 3)",),
        "v0",
        (CALL, "B = Base()", CALL),
    ),
    "a key that is there": Case(
        "function",
        ("v0 = x * ('n' in STATE)",),
        "v0",
        (
            CALL,
            "del STATE['n']",
            CALL,
        ),
    ),
    "a text that is an argument": Case(
        "function",
        ("v0 = x * (2 if state == 'a' else 3)",),
        "v0",
        (
            "r = f(np.arange(5.0), 'a')",
            "r = f(np.arange(5.0), 'b')",
        ),
    ),
    "defaults that are set anew": Case(
        "function",
        ("v0 = scaled_by(x)",),
        "v0",
        (
            CALL,
            "scaled_by.__defaults__ = (5,)",
            CALL,
            "scaled_by.__kwdefaults__['off'] = 3",
            CALL,
        ),
    ),
    "code that is set anew": Case(
        "function",
        ("v0 = twice(x)",),
        "v0",
        (
            CALL,
            "twice.__code__ = (lambda v: v - 1).__code__",
            CALL,
        ),
    ),
    "an instance of another class": Case(
        "function",
        ("v0 = B.go(x)",),
        "v0",
        (
            CALL,
            "B = Base()",
            CALL,
        ),
    ),
    "an attribute that is deleted": Case(
        "function",
        ("del B.count",),
        "x",
        (
            "B.count = 1",
            CALL,
            "B.count = 2",
            CALL,
        ),
    ),
    "an entry that is deleted": Case(
        "function",
        ("del NUMBERS[-1]",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a key that is deleted": Case(
        "function",
        ("del STATE['n']",),
        "x",
        (
            CALL,
            "STATE['n'] = 3",
            CALL,
        ),
    ),
    "printed numbers": Case(
        "function",
        ("print(x.sum(), k)",),
        "x",
        (
            CALL,
            "k += 1",
            CALL,
        ),
    ),
    "a heap": Case(
        "function",
        ("heapq.heappush(NUMBERS, 0)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "an object from outside that is returned": Case(
        "function",
        ("v0 = x + 1",),
        "(v0, LOG)",
        (
            CALL,
            "LOG = [5]",
            CALL,
        ),
    ),
    "another value of an attribute": Case(
        "function",
        ("v0 = S.k * x",),
        "v0",
        (
            CALL,
            "S.k = 2.5",
            CALL,
            "del S.k",
            CALL,
        ),
    ),
    "an attribute of the class that is shadowed": Case(
        "function",
        ("v0 = x * S.scale",),
        "v0",
        (
            CALL,
            "Model.scale = 4",
            CALL,
            "S.scale = 5",
            CALL,
        ),
    ),
    "a number in a cell": Case(
        "closure",
        ("v0 = x * c\nc = c + 1",),
        "v0",
        (
            CALL,
            CALL,
            "CELLS['c'].cell_contents = 2.5",
            CALL,
        ),
    ),
    "a length that decides": Case(
        "function",
        ("v0 = x + len(LOG)",),
        "v0",
        (
            CALL,
            "LOG.append(1)",
            CALL,
        ),
    ),
    "a truth of a number that changes": Case(
        "function",
        ("k += 1", "v0 = x + (1 if k > 5 else 2)"),
        "v0",
        (
            CALL,
            CALL,
            CALL,
            CALL,
        ),
    ),
    "an iterator of a library": Case(
        "function",
        ("v0 = x * list(itertools.islice(C, 2))[1]",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a generator that is iterated": Case(
        "function",
        ("for v0 in G:\n    break",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a length by a method of the user's": Case(
        "function",
        ("v0 = x + len(S)",),
        "v0",
        (
            CALL,
            "S.k += 1",
            CALL,
            CALL,
        ),
    ),
    "a store by setattr": Case(
        "function",
        ("setattr(S, 'k', S.k + 1)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a key that is a shape": Case(
        "function",
        ("GROUPS[x.shape]",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "an update by names": Case(
        "function",
        ("STATE.update(n=STATE['n'] + 1)\nv0 = x * STATE['n']",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a list within a copied dict": Case(
        "function",
        ("own = {**STATE}\nown['seen'].append(4)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a list behind two stars": Case(
        "function",
        ("note_in(**{'log': LOG, 'v': 1})",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a generator with a seed": Case(
        "function",
        ("v0 = x + np.random.default_rng(3).random()",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a generator that is replaced": Case(
        "function",
        ("v0 = x + OLD.randint(0, 5, 5)",),
        "v0",
        (
            CALL,
            "OLD = np.random.RandomState(9)",
            CALL,
            CALL,
        ),
    ),
    "a stream that is made": Case(
        "function",
        ("own = io.StringIO()\nown.write('a')\nv0 = x * len(own.getvalue())",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a stream of the process": Case(
        "function",
        ("sys.stdout.write('w')",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a slice that is assigned": Case(
        "function",
        ("LOG[:] = [7]",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "identity that is not there": Case(
        "function",
        ("v0 = x + (state['seen'] is LOG)",),
        "v0",
        (
            "r = f(np.arange(5.0), given)",
            "given['seen'] = LOG",
            "r = f(np.arange(5.0), given)",
        ),
    ),
    "a __setattr__ that is set anew": Case(
        "function",
        ("setattr(Z, 'k', 2)",),
        "x",
        (
            CALL,
            "Noted.__setattr__ = object.__setattr__",
            CALL,
        ),
    ),
    "a factory that is set anew": Case(
        "function",
        ("v0 = x + len(GROUPS['b'])",),
        "v0",
        (
            CALL,
            "GROUPS.clear()",
            "GROUPS.default_factory = set",
            CALL,
        ),
    ),
    "comparisons within a list": Case(
        "function",
        ("v0 = x + [U].count(1.0) + (1.0 in [U])",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a list among the defaults": Case(
        "function",
        ("scaled_by.__kwdefaults__['extra'].append(1)\nv0 = scaled_by(x)",),
        "v0",
        (
            CALL,
            CALL,
        ),
    ),
    "a list that a library passes on": Case(
        "function",
        ("for log in itertools.chain([LOG], [[]]):\n    log.append(1)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a list that an error holds": Case(
        "function",
        ("try:\n    raise ValueError(LOG)\nexcept ValueError as e:\n    e.args[0].append(1)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a mapping of a library that keeps a dict": Case(
        "function",
        ("collections.ChainMap(STATE)['n'] = 4",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "lists that are sorted": Case(
        "function",
        ("own = sorted([LOG, [1]])\nown[0].append(2)",),
        "x",
        (
            CALL,
            CALL,
        ),
    ),
    "a list of two changes": Case("function", ("LOG.append(1)\nLOG.append(2)",), "x", (CALL,)),
    "the memory of a bytearray": Case(
        form="helper",
        statements=("np.frombuffer(BYTES, 'u1')[1] += 3",),
        returned="x",
        steps=("x = np.arange(5.0)\nr = f(x)", "x = np.arange(5.0)\nr = f(x)"),
        strict=False,
        changes=True,
    ),
    "a partial of a partial": Case(
        form="helper",
        statements=(
            "v0 = x + sum(NUMBERS)",
            "v1 = functools.partial(TIMES, off=2)(v0)",
        ),
        returned="v1",
        steps=(
            "x = np.arange(5.0)\nr = f(x)",
            "TIMES = functools.partial(scaled_by, by=4)",
            "r = f(np.arange(5.0))",
        ),
        strict=False,
        changes=False,
    ),
    "the environment": Case(
        form="helper",
        statements=("os.environ['GENERATED'] = os.environ.get('GENERATED', '') + 'a'",),
        returned="x",
        steps=("r = f(np.arange(5.0))", "r = f(np.arange(5.0))"),
        strict=False,
        changes=False,
    ),
    "an error of a class with its own start": Case(
        form="closure",
        statements=(
            "try:\n    raise Trouble(k) from None\nexcept Exception as e:\n    LOG.append(e.args)",
        ),
        returned="x",
        steps=("r = f(np.arange(5.0))",),
        strict=True,
        changes=True,
    ),
    "an attribute of the class that is deleted": Case(
        form="function",
        statements=("del B.count\nB.count = 1", "x += 1"),
        returned="x",
        steps=("x = np.arange(5.0)\nr = f(x)",),
        strict=True,
        changes=True,
    ),
    "a deletion by a method of the user's": Case(
        form="method",
        statements=("del Z.k\nZ.k = 4", "state['n'] += 1"),
        returned="x",
        steps=("x = np.arange(5.0)\nr = S.f(x, given)",),
        strict=True,
        changes=True,
    ),
    "an item of a made object": Case(
        form="method",
        statements=(
            "v0 = (x if U else -x)",
            "v1 = v0\nif STATE['n'] and not once:\n    pass\nelse:\n    v1 = v0 + U.parts[0]",
            "v2 = v1 + max(U, Vec([3.0]))[0]",
        ),
        returned="{'a': v2}",
        steps=(
            "r = S.f(np.arange(5.0))",
            "Vec.__getitem__ = lambda self, key: 8.0",
            "x = np.arange(5.0)\nr = S.f(x)",
        ),
        strict=False,
        changes=False,
    ),
    "a list that gets itself": Case(
        form="function",
        statements=("LOG.append(state['seen'])",),
        returned="x",
        steps=(
            "given['seen'] = LOG",
            "r = f(np.arange(5.0), given)",
            "r = f(np.arange(5.0), given)",
        ),
        strict=False,
        changes=True,
    ),
    "a write at positions of known elements": Case(
        form="inner",
        statements=("np.minimum.at(W, 0, -1.0)", "v1 = x * (1 if W[0] else 2)"),
        returned="x",
        steps=("x = np.arange(5.0)\nr = f(x)",),
        strict=False,
        changes=True,
    ),
    "a length that is no integer": Case(
        form="method",
        statements=("v0 = x + len(self)",),
        returned="x",
        steps=("S.k = 2.5", "r = S.f(np.arange(5.0))"),
        strict=False,
        changes=False,
    ),
    "a method of a base class that is replaced": Case(
        form="inner",
        statements=(
            "v0 = (x if isinstance(B, Base) else -x)",
            "v1 = v0\nif x.ndim == 1:\n    v1 = super(Both, B).go(v0)",
        ),
        returned="x",
        steps=("r = f(np.arange(5.0))", "Base.go = lambda self, v: v * 3", "r = f(np.arange(5.0))"),
        strict=False,
        changes=True,
    ),
    "an error that holds a traced number": Case(
        form="method",
        statements=("v0 = risky(x, k)",),
        returned="x",
        steps=("r = S.f(np.arange(5.0))", "k = 9", "r = S.f(np.arange(5.0))"),
        strict=False,
        changes=True,
    ),
    "a number that is too large": Case(
        "function", ("k += 1", "v1 = x + k"), "v1", ("k = 10**20", "r = f(np.arange(5))")
    ),
    "a deletion past a class": Case("function", ("del Z.k",), "x", (CALL,)),
}
"""Cases that were wrong once, and one for each kind of guard and effect."""


@pytest.mark.parametrize("name", FOUND)
def test_found_cases(name):
    with way("evaluated"):
        assert failure(FOUND[name]) is None
