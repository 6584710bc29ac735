"""Random functions behave as before; a rewriter with any one fault is found by them."""

import ast
import sys
import warnings

import pytest

from axiomjit.functions import statements
from axiomjit.functions.expressions import Expressions
from axiomjit.functions.statements import Rewriter
from tests.functions import plain_hooks
from tests.functions.random_functions import difference

FUNCTIONS = 250
MOST = 800
"""A fault is found within this number of functions; those that show one come first."""


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

    for number in range(60):
        difference(number, instrument=lambda f: plain_hooks.plain(f, Watching))
    hooks = {name for name in vars(plain_hooks.PlainHooks) if not name.startswith("__")}
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
    name = ast.copy_location(ast.Constant(self.mangle(node.func.attr)), node)
    arguments = self.expressions(node.args, node)
    keywords = [self._keyword(one) for one in node.keywords]
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
    count, star = (
        ast.copy_location(ast.Constant(value), node)
        for value in (len(node.elts), stars[0] if stars else None)
    )
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
    node.generators[0].iter = ast.copy_location(
        ast.List([node.generators[0].iter], ast.Load()), node
    )
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
    "_part": as_it_is,
    "_index": as_it_is,
}
LEFT_OUT = {
    ast.Attribute: "attribute",
    ast.Subscript: "item",
    ast.BinOp: "binary",
    ast.UnaryOp: "unary",
    ast.Compare: "compare",
}
"""Kinds of expressions, left as they are: what they call is then not seen by the hook."""


def finds():
    return any(difference(number) is not None for number in range(MOST))


@pytest.mark.parametrize("name", [name for name in FAULTS if hasattr(Rewriter, name)])
def test_planted_faults_are_found(name, monkeypatch):
    owner = next(c for c in Rewriter.__mro__ if name in vars(c))
    old, new = vars(owner)[name], FAULTS[name]
    monkeypatch.setattr(owner, name, new)
    for table in (statements._STATEMENTS, sys.modules[Expressions.__module__]._EXPRESSIONS):
        for kind, visit in table.items():
            if visit is old:
                monkeypatch.setitem(table, kind, new)
    forget(monkeypatch)
    assert finds()


def forget(monkeypatch):
    """Rewrite every function again."""
    from axiomjit.base.bounded_tables import BoundedTable
    from axiomjit.functions import instrument

    monkeypatch.setattr(instrument, "_templates", BoundedTable(10))
