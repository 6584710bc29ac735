"""The live names behind a statement, and loops whose names other statements use, too."""

import ast
import contextlib
import textwrap

import numpy as np
import pytest

import axiomjit
from axiomjit.functions.liveness import Liveness, reads, uses

M = np.random.default_rng(3).normal(size=(12, 12))


def live_behind(text):
    """The live names of `x y z` behind the statement `here()`, found as the rewriter finds them."""
    inside = textwrap.indent(textwrap.dedent(text), "    ")
    (function,) = ast.parse(f"def function(w):\n{inside}").body
    liveness = Liveness(function)
    found = []

    def block(statements):
        for place, node in enumerate(statements):
            with liveness.before(*statements[place + 1 :]):
                visit(node)

    def visit(node):
        is_loop = isinstance(node, ast.For | ast.While)
        handlers = [*getattr(node, "handlers", []), *getattr(node, "finalbody", [])]
        around = liveness.loop(node) if is_loop else contextlib.nullcontext()
        if isinstance(node, ast.Try | ast.With):
            around = liveness.caught(*handlers)
        if isinstance(node, ast.Expr) and ast.unparse(node) == "here()":
            found.append(liveness.names())
        with around:
            block(getattr(node, "body", []))
        block(getattr(node, "orelse", []))
        for one in getattr(node, "handlers", []):
            block(one.body)
        block(getattr(node, "finalbody", []))

    block(function.body)
    (names,) = found
    return "".join(sorted(names & {"x", "y", "z"}))


CASES = {
    "read in front": ("x; here()", ""),
    "read behind": ("here(); x", "x"),
    "bound before it is read": ("here(); x = 1; x", ""),
    "read by its own binding": ("here(); x = x + 1", "x"),
    "added to": ("here(); x += 1", "x"),
    "deleted": ("here(); del x", "x"),
    "bound on one side": ("here()\nif y: x = 1\nx", "xy"),
    "bound on both sides": ("here()\nif y: x = 1\nelse: x = 2\nx", "y"),
    "other side ends": ("here()\nif y: x = 1\nelse: raise z\nx", "yz"),
    "other side returns": ("here()\nif y: return z\nx = 1\nx", "yz"),
    "bound in a loop": ("here()\nfor i in y: x = 1\nx", "xy"),
    "a target": ("here()\nfor x in y: x\n", "y"),
    "next trip": ("for i in z:\n  x\n  here()\n  x = y", "y"),
    "next trip binds": ("for i in z:\n  x = 1\n  x\n  here()", ""),
    "behind the loop": ("for i in z:\n  x = 1\n  here()\nx", "x"),
    "next test": ("while x:\n  here()", "x"),
    "else of the loop": ("while 1:\n  here()\nelse:\n  x", "x"),
    "a break may skip the binding": ("for i in z:\n  here()\n  if y: break\n  x = 1\nx", "xy"),
    "an error may skip the binding": ("try:\n  here()\n  x = y()\nexcept E: pass\nx", "xy"),
    "a handler reads": ("try:\n  here()\n  x = 1\nexcept E: z", "z"),
    "a suppressed error": ("with z:\n  here()\n  x = y()\nx", "xy"),
    "a function made before": ("f = lambda: x\nhere()\nf()", "x"),
    "a function with names of its own": ("def f(x):\n  y = x\n  return y\nhere()\nf(z)", "z"),
    "a nonlocal name": ("def f():\n  nonlocal x\n  x = 1\nhere()\nf()", "x"),
    "a generator made before": ("g = (x for i in y)\nhere()\nz(g)", "xz"),
    "a generator that is used up": ("sum(x for i in y)\nhere()\nz", "z"),
    "a generator that w may keep": ("w(x for i in y)\nhere()\nz", "xz"),
    "a consumer of the function's own": ("sum = w\nsum(x for i in y)\nhere()", "x"),
    "a comprehension made before": ("g = [x for i in y]\nhere()\nz(g)", "z"),
    "a comprehension's name": ("here()\n[x for x in y]", "y"),
    "a condition of a comprehension": ("here()\n[x for x in y if x > z]", "yz"),
    "a walrus": ("here()\n(x := 1)\nx", "x"),
    "unpacked": ("here()\n(x, [y, z]) = w\nx, y, z", ""),
}


@pytest.mark.parametrize("case", CASES)
def test_live_names(case):
    text, expected = CASES[case]
    assert live_behind(text) == expected


def test_uses_of_nothing_and_of_an_end():
    assert uses([]) == (frozenset(), frozenset(), False)
    found = uses(ast.parse("x = 1\nif y:\n  return z\nelse:\n  raise x\nw").body)
    assert found == ({"y", "z"}, {"x"}, True)
    assert reads(ast.parse("f(x)[y] = z.w")) == {"f", "x", "y", "z"}


def rows_of_two_loops(a, b):
    s = t = 0.0
    for i in range(a.shape[0]):
        row = a[i]
        s += row[0] * row[1]
    for i in range(b.shape[0]):
        row = b[i]
        t += row[2]
    return s, t


def rows_of_loops_in_loops(a, b):
    n = a.shape[0]
    out = np.zeros(n)
    for i in range(n):
        row = a[i]
        for k in range(n):
            column = b[:, k]
            out[i] += row[k] * column[i]
    for i in range(n):
        row = b[i]
        column = a[:, i]
        out[i] -= row[0] * column[1]
    return out


def a_parameter_bound_anew(y, n):
    out = np.empty((n + 1, y.shape[0]))
    out[0] = y
    for k in range(n):
        y = out[k]
        out[k + 1] = 0.5 * y
    return out


def steps_of_an_equation(y, n):
    out = np.empty((n + 1, 3))
    out[0] = y

    def slope(y):
        return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - y[2]])

    for k in range(n):
        y = out[k]
        first = slope(y)
        out[k + 1] = y + 0.01 * slope(y + 0.005 * first)
    return out


def read_before_and_in_a_branch(a, n):
    total = 0.0
    if n > 3:
        row = a[0]
        total += row[1]
    for i in range(n):
        row = a[i]
        total += row[0]
    return total


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (rows_of_two_loops, (M, M.T.copy())),
        (rows_of_loops_in_loops, (M, M.T.copy())),
        (a_parameter_bound_anew, (M[0], 20)),
        (steps_of_an_equation, (M[0, :3], 20)),
        (read_before_and_in_a_branch, (M, 12)),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_names_of_rows_that_other_statements_use_are_not_carried(function, args):
    compiled = axiomjit.jit(function, strict=True)
    for _ in range(2):
        assert np.array_equal(compiled(*args), function(*args))
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


def last_value(x):
    v = -1.0
    for i in range(x.shape[0]):
        v = x[i] * 2
    return v


def by_a_function(x):
    v = 0.0

    def get():
        return v

    for i in range(x.shape[0]):
        v = x[i] * 2
    return get()


def by_a_generator(x):
    v = 0.0
    some = (v for _ in range(2))
    for i in range(x.shape[0]):
        v = x[i] * 2
    return sum(some)


def by_finally(x):
    v = 0.0
    try:
        for i in range(x.shape[0]):
            v = x[i] * 2
        v = 1.0 / len(x[:0])
    except ZeroDivisionError:
        return v
    return 0.0


def by_a_suppressed_error(x):
    v = 0.0
    with contextlib.suppress(ZeroDivisionError):
        for i in range(x.shape[0]):
            v = x[i] * 2
        v = 1 // len(x[:0])
    return v


def by_a_loop_with_break(x):
    v = 0.0
    for name in ("a", "b"):
        for i in range(x.shape[0]):
            v = x[i] * 2
        if name == "a":
            break
        v = 1.0
    return v


def by_the_next_trip(x):
    v = s = 0.0
    for _ in ("a", "b"):
        s += v
        for i in range(x.shape[0]):
            v = x[i] * 2
    return s


def by_a_nonlocal(x):
    v = 0.0

    def put():
        nonlocal v
        for i in range(x.shape[0]):
            v = x[i] * 2

    put()
    return v


def by_its_own_binding(x):
    v = 0.0
    for i in range(x.shape[0]):
        v = x[i] * 2
    v = v + 1
    return -v


FUNCTIONS = [
    *(last_value, by_a_function, by_a_generator, by_finally, by_a_suppressed_error),
    *(by_a_loop_with_break, by_the_next_trip, by_a_nonlocal, by_its_own_binding),
]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.filterwarnings("ignore")
def test_values_that_are_read_after_a_loop_are_pythons(function):
    compiled = axiomjit.jit(function)
    for x in (M[0], M[1], M[0, :9]):
        for _ in range(2):
            assert compiled(x) == function(x)
