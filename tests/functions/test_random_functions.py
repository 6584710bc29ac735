"""Random functions behave as before; a rewriter with any one fault is found by them."""

import ast
import warnings

import pytest

from axiomjit.functions import expressions, statements
from axiomjit.functions.expressions import Expressions, constant, placed
from axiomjit.functions.statements import Rewriter
from tests.functions import plain_hooks
from tests.functions.random_functions import difference

FUNCTIONS = 100
MOST = 400
"""A fault is found within this number of functions."""


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        yield


def test_random_functions_behave_as_before():
    assert [text for text in map(difference, range(FUNCTIONS)) if text] == []


def test_random_functions_need_every_hook():
    used = set()

    class Watching(plain_hooks.PlainHooks):
        def __getattribute__(self, name):
            used.add(name)
            return super().__getattribute__(name)

    for number in range(120):
        difference(number, instrument=lambda f: plain_hooks.plain(f, Watching))
    hooks = {name for name in vars(plain_hooks.PlainHooks) if not name.startswith("__")}
    hooks.remove("length")  # of patterns
    assert hooks | {"globals", "cells"} <= used


def first_unpacked_once(self, node):
    """Fault: targets of a chain share one iterator."""
    value = self.expression(node.value)
    node.targets = [self.target(target) for target in node.targets]
    node.value = self.hook("iterate", node, value)
    return node


def evaluated_twice(self, node, made, names):
    """Fault: object and key of an augmented assignment are evaluated twice."""
    return made, made


def bool_asked_again(self, node, is_and, at):
    """Fault: the truth of a part of `and` within `or` is asked twice."""
    return self.hook(
        "continues", at, self.expression(node), ast.Constant(is_and, lineno=1, col_offset=0)
    )


def method_read_late(self, node):
    """Fault: the attribute is read after the arguments."""
    if not isinstance(node.func, ast.Attribute):
        return CALL(self, node)
    value = self.expression(node.func.value)
    name = constant(self.mangle(node.func.attr), node)
    arguments = self.expressions(node.args, node)
    keywords = [self._keyword(one, node) for one in node.keywords]
    return self.hook("method", node, value, name, *arguments, keywords=keywords)


def as_it_is(self, node, *_):
    """Fault: left out."""
    return node


def only_first_comparison(self, node):
    """Fault: the rest of a chain is dropped."""
    node.ops, node.comparators = node.ops[:1], node.comparators[:1]
    return COMPARED(self, node)


def private_names_stay(self, name):
    """Fault: private names do not get the name of their class."""
    return name


def nested_targets_stay(self, node, value):
    """Fault: parts of a target that are unpacked themselves stay as they are."""
    node.elts = [self.target(part) for part in node.elts]
    stars = [k for k, part in enumerate(node.elts) if isinstance(part, ast.Starred)]
    count, star = constant(len(node.elts), node), constant(stars[0] if stars else None, node)
    return [(node, self.hook("unpack", node, value, count, star))], []


def names_are_global(self, node):
    """Fault: free names are stored as globals."""
    if isinstance(node, ast.Name) and self.scope.kind(node.id) == "cell":
        return ast.copy_location(ast.Attribute(self.free("globals", node), node.id, node.ctx), node)
    return TARGET(self, node)


def decorator_evaluated_late(self, node):
    """Fault: a decorator is evaluated when it is called."""
    made = DECORATOR(self, node)
    made.body.args[0] = made.args.defaults.pop()
    made.args.args.pop()
    return made


def first_iterable_inside(self, node):
    """Fault: the first iterable of a comprehension is evaluated in its scope."""
    once = placed(ast.Tuple([constant(1, node)], ast.Load()), node)
    item = placed(ast.Name("c9", ast.Store()), node)
    node.generators.insert(0, ast.comprehension(item, once, [], 0))
    return COMPREHENSION(self, node)


CALL, COMPARED = Expressions._call, Expressions._compared
TARGET, DECORATOR = Expressions.target, Rewriter._decorator
COMPREHENSION = Expressions._comprehension
FAULTS = {
    "_call": method_read_late,
    "_compared": only_first_comparison,
    "_continues": bool_asked_again,
    "mangle": private_names_stay,
    "unpacked": nested_targets_stay,
    "target": names_are_global,
    "_decorator": decorator_evaluated_late,
    "_once": evaluated_twice,
    "_comprehension": first_iterable_inside,
    "_assign": first_unpacked_once,
}
LEFT_OUT = (ast.Attribute, ast.Subscript, ast.Call, ast.UnaryOp, ast.Compare, ast.JoinedStr)
LEFT_OUT_STATEMENTS = (ast.AugAssign, ast.Delete, ast.If, ast.While, ast.For, ast.With, ast.Assert)
LEFT_OUT_STATEMENTS += (ast.Raise, ast.AnnAssign, ast.Expr)
EXPRESSIONS, STATEMENTS = expressions._EXPRESSIONS, statements._STATEMENTS


def finds():
    try:
        return any(difference(number) is not None for number in range(MOST))
    except SyntaxError:
        return True


@pytest.mark.parametrize("name", FAULTS)
def test_planted_faults_are_found(name, monkeypatch):
    owner = next(c for c in Rewriter.__mro__ if name in vars(c))
    old, new = vars(owner)[name], FAULTS[name]
    monkeypatch.setattr(owner, name, new)
    for table in (EXPRESSIONS, STATEMENTS):
        for kind, visit in table.items():
            if visit is old:
                monkeypatch.setitem(table, kind, new)
    forget(monkeypatch)
    assert finds()


@pytest.mark.parametrize("kind", [*LEFT_OUT, *LEFT_OUT_STATEMENTS])
def test_kinds_that_are_left_out_are_found(kind, monkeypatch):
    monkeypatch.setitem(EXPRESSIONS if kind in LEFT_OUT else STATEMENTS, kind, as_it_is)
    forget(monkeypatch)
    assert finds()


def forget(monkeypatch):
    """Rewrite every function again."""
    from axiomjit.base.caching import BoundedTable
    from axiomjit.functions import instrument

    monkeypatch.setattr(instrument, "_templates", BoundedTable(10))
