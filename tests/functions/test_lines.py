"""Errors in statements of many lines have the lines that Python gives them."""

import linecache
import sys
import traceback
from itertools import groupby

import pytest

from tests.functions.plain_hooks import plain

TEXTS = {
    "for": "for x in (\n  a\n ): pass",
    "starred argument": "print(1,\n  2,\n  *\n  a)",
    "yield from": "(yield from\n  a)",
    "inner comprehension": "[x\n  for y in [1]\n    for x in\n      a]",
    "comprehension": "[x\n  for x in\n    a]",
    "starred": "[1,\n  *\n  a]",
    "unpacking": "(x,\n  y) = (\n   a)",
    "unpacking of items": "for (x,\n  y) in [\n   a]: pass",
    "nested unpacking": "[\n  x, (y,\n   z)] = 1, a",
    "with": "with (\n  a) as y: pass",
    "f-string": "f'''{\n  a:x{\n  a}}'''",
    "mapping": "dict(b=1,\n  **\n  a)",
    "chain": "if (\n  1 <\n  a < N() < 2): pass",
    "call of an attribute": "[1][\n  0\n  ] + a.b(\n  )",
    "chain of attributes": "(a\n  .b\n  [0])",
    "call in a chain": "a.real.conjugate(\n  1,\n  2)",
    "store": "(a\n  .b) = 3",
    "import": "import os, \\\n  nowhere_at_all",
    "deletion": "del (N()\n  .b), a[\n  1]",
    "slice": "[1, 2][\n  a:2:\n  N()]",
    "while": "while (1 and\n  N()): pass",
    "and": "(1 and\n  N() and 2)",
    "assert": "assert (\n  N()\n  ), 1",
    "conditional": "(3 if\n  N()\n  else 1)",
    "chain of truths": "(1\n  > N()\n  > N())",
    "filter": "[1 for y in [1]\n  if N()]",
    "not": "not (\n  N())",
    "decorators": "@a\n @a\n def g(): pass",
    "lambda": "(lambda: 1)(\n  a,\n  a)",
    "in place": "a.b += (\n  3)",
    "in place with an operator": "a @= (\n  3)",
}
OF_BODIES = ("<lambda>", "<listcomp>")
"""The names of frames that a rewritten function has more or fewer of."""
pytestmark = pytest.mark.skipif(sys.version_info >= (3, 12), reason="lines of Python 3.11")


class N:
    """A value without a truth."""

    def __bool__(self):
        raise KeyError

    def __lt__(self, other):
        return self

    __gt__ = __lt__


@pytest.mark.parametrize("name", TEXTS)
def test_lines_of_errors(name):
    path = f"<lines of {name}>"
    text = f"def f(a):\n {TEXTS[name]}\n"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    names = {"N": N}
    exec(compile(text, path, "exec"), names)
    expected, seen = (raised(function, path) for function in (names["f"], plain(names["f"])))
    assert expected == seen


def raised(function, path):
    """The type of the error, the lines of its traceback in a file, and the line of the error."""
    try:
        result = function(3)
        if name_of(result) == "generator":
            list(result)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [(f.name, f.lineno) for f in frames if f.filename == path]
        named = [line for line in lines if line[0] not in OF_BODIES]
        return type(error), [line for line, _ in groupby(named)], lines[-1][1]
    raise AssertionError("no error")


def name_of(value):
    return type(value).__name__
