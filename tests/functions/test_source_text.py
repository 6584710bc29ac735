"""The text of a function is found if it compiles to the running code, in any form."""

import ast
import doctest
import importlib
import linecache
import os
import subprocess
import sys
import time
import types
import warnings
import zipfile

import pytest

from axiomjit.functions import source_text
from axiomjit.functions.instrument import NotInstrumentedError, instrumented
from axiomjit.functions.source_text import find_definition
from tests.functions.plain_hooks import plain

KEPT = []
MODULES = ("numpy.ma.core", "numpy.lib._function_base_impl", "argparse", "difflib", "typing")


def made(text, name="f", path="<text>", **options):
    """The function that a text defines, with the text where `linecache` finds it."""
    path = f"{path}{len(KEPT)}"
    KEPT.append(path)
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    names = {"__name__": "made"}
    exec(compile(text, path, "exec", dont_inherit=True, **options), names)
    return names[name]


def found(function):
    return find_definition(function.__code__, function.__globals__)


def functions_of(module):
    """All functions that a module defines."""
    waiting, seen = [*vars(module).values()], set()
    while waiting:
        value = waiting.pop()
        value = getattr(value, "__func__", value)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, type) and value.__module__ == module.__name__:
            waiting += vars(value).values()
        elif isinstance(value, property):
            waiting += [value.fget, value.fset]
        elif isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            yield value


def test_functions_of_libraries_are_found_in_their_own_lines(monkeypatch):
    monkeypatch.setattr(source_text, "_in_file", lambda *_: None)
    times, missed = [], []
    for name in MODULES:
        for function in functions_of(importlib.import_module(name)):
            code = function.__code__
            lines = linecache.getlines(code.co_filename, function.__globals__)
            if code.co_filename.startswith("<") or not lines:
                continue
            begin = time.thread_time()
            if found(function) is None:
                missed.append(code)
            times.append(time.thread_time() - begin)
    assert len(times) > 500
    assert len(missed) <= 0.02 * len(times)
    assert sorted(times)[len(times) // 2] < 0.005  # below 1 ms on an idle core


def test_whole_file_is_found_where_own_lines_are_not(monkeypatch):
    monkeypatch.setattr(source_text, "_in_own_lines", lambda *_: None)
    definitions = [found(f) for f in functions_of(importlib.import_module("textwrap"))]
    assert len(definitions) > 10
    assert None not in definitions


TWO = "f = [lambda x: x + 1, lambda x: x + 2][1]\n"
FORMS = {
    "a decorator": "def mark(f): return f\n@mark\n@mark\ndef f(x): return x\n",
    "a closure": "def g():\n  y = 1\n  def f(x):\n    return x + y\n  return f\nf = g()\n",
    "a method": "class A:\n  class B:\n    def f(self):\n      return self.__x\nf = A.B.f\n",
    "super": "class A:\n  def f(self):\n    return super().f, __class__\nf = A.f\n",
    "a method in a function": (
        "def g(y):\n  class A:\n    def f(self): return y, self.__z\n  return A.f\nf = g(1)\n"
    ),
    "a function in a comprehension": "f = [(lambda: q) for q in [1]][0]\n",
    "a function in a lambda": "f = (lambda a: lambda b: a + b)(1)\n",
    "two lambdas on a line": TWO,
    "a lambda in brackets": "def g(**k): return k['f']\nf = g(f=lambda x: (x, [x]), h=1)\n",
    "a lambda on many lines": "f = (lambda x: (\n   x +\n   1\n))\n",
    "a lambda at the start of a line": "f = (\nlambda x: x\n)\n",
    "a lambda behind letters": "f = ('äöü', lambda x: x + 'é')[1]\n",
    "a default with a lambda": "f = lambda x=(lambda: 1): x\n",
    "a name that is imported": "import os.path as path\ndef f(): return path.join('a', 'b')\n",
    "a parameter like an import": "import os\ndef f(os): return os.path(), os.x.y()\n",
    "an import in another function": "def g():\n  import sys\ndef f(): return sys.intern('a')\n",
    "a future import": "from __future__ import annotations\ndef f(x: 1/0): return x\n",
    "tabs": "if 1:\n\tdef f():\n\t\tif 1:\n\t\t\treturn 2\n",
    "text at the start of a line": 'def g():\n  def f(): return """\nx\n"""\n  return f\nf=g()\n',
    "comments at the start": "def f(x):\n  if x:\n# here\n    return 1\n# end\n  return 2\n",
    "brackets at the start of a line": "def f(\n  x\n):\n  return (x,\n)\n",
    "the last line without an end": "def f(): return 1",
    "continued lines": "def f(x): \\\n  return x + \\\n 1\n",
    "dead code that makes a name local": "def f():\n  return x\n  x = 1\n",
    "a docstring": "def f():\n  '''Two\n  lines.'''\n  return 1\n",
    "constants of many types": "def f(): return 0.0, -0.0, 1, True, 1j, {1, 2}, x in {3, 4}\n",
    "global names of a function": "def g():\n  global f\n  def f(x): return x\ng()\n",
    "a function made twice": "for k in 1, 2:\n  def f(x, k=k): return x\n",
    "many lines above": "\n" * 3000 + "def f(x):\n  return x\n",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    function = made(FORMS[form])
    definition = found(function)
    assert definition is not None
    first = function.__code__.co_firstlineno
    node = definition.node
    top = getattr(node, "decorator_list", None) or [node]
    assert top[0].lineno + definition.shift == first
    assert find_definition(function.__code__, function.__globals__) is not None
    assert instrumented(function).code.co_firstlineno == first


def test_lambdas_on_one_line_are_told_apart():
    functions = made(TWO.replace("[1]", ""))
    assert [plain(function)(1) for function in functions] == [2, 3]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("return 1", "return 2"),
        ("return 1", "return 1.0"),
        ("return 1", "return True"),
        ("return 0.0", "return -0.0"),
        ("return (1, 2)", "return (1, True)"),
        ("return lambda: 1", "return lambda: 2"),
        ("return x in {1, 2}", "return x in {1, 3}"),
        ("return x", "return y"),
        ("return x + y", "return x - y"),
        ("return x", "return  x"),
        ("return x", "\n return x"),
        ("return x.y()", "return x.z()"),
    ],
)
def test_other_text_is_not_taken(old, new):
    function = made(f"def f():\n {old}\n")
    path = function.__code__.co_filename
    text = f"def f():\n {new}\n"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    assert found(function) is None
    with pytest.raises(NotInstrumentedError, match="no text compiles to its code"):
        instrumented(function)


def test_text_that_was_read_before_it_changed_is_read_again(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def f(): return 1\n")
    linecache.getlines(str(path))
    path.write_text("x = 1\ndef f(): return 22\n")
    os.utime(path, (1, 1))
    names = {}
    exec(compile(path.read_text(), str(path), "exec"), names)
    assert found(names["f"]).shift == 1


def test_notebook_cells_are_compiled_by_statement():
    """The import stands in another statement than the function, compiled alone."""
    text = "import math\ndef f(x): return math.sqrt(x)\ng = [lambda x: math.cos(x)]\n"
    path = "<cell 1>"
    linecache.cache[path] = len(text), None, text.splitlines(keepends=True), path
    names = {}
    for statement in ast.parse(text).body:
        exec(compile(ast.Module([statement], []), path, "exec"), names)
    assert found(names["f"]) is not None
    assert found(names["g"][0]) is not None


def test_modules_in_zip_files(tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "held.zip", "w") as file:
        file.writestr("zipped_one.py", "import os\ndef f(x): return os.path.join(x, x)\n")
    monkeypatch.syspath_prepend(str(tmp_path / "held.zip"))
    module = importlib.import_module("zipped_one")
    assert plain(module.f)("a") == os.path.join("a", "a")
    del sys.modules["zipped_one"]


def test_functions_of_doctests():
    """
    >>> import math
    >>> def f(x):
    ...     return math.floor(x)
    >>> plain(f)(2.5)
    2
    """
    [test] = doctest.DocTestFinder().find(test_functions_of_doctests, "doctests", globs=globals())
    assert doctest.DocTestRunner(verbose=False).run(test).failed == 0


def asserting(x):
    assert x > 1, "small"
    return [y for y in range(x) if y]


def test_functions_with_asserts_that_pytest_rewrote():
    assert any(name.startswith("@py") for name in asserting.__code__.co_names)
    assert plain(asserting)(3) == [1, 2]
    with pytest.raises(AssertionError, match="small"):
        plain(asserting)(1)
    assert source_text._in_file(asserting.__code__, linecache.getlines(__file__), []) is not None


RUN = """
import sys
sys.path.insert(0, {folder!r})
from tests.functions.plain_hooks import plain
def f(x):
    "Text."
    assert x, "none"
    if __debug__:
        x += 1
    return x
g = lambda x: x
print(plain(f)(1), plain(g)(3))
"""


@pytest.mark.parametrize("options", [("-O",), ("-OO",), ("-X", "no_debug_ranges"), ("-W", "error")])
def test_options_of_python(options, tmp_path):
    path = tmp_path / "run.py"
    path.write_text(RUN.format(folder=os.getcwd()))
    run = subprocess.run([sys.executable, *options, path], capture_output=True, text=True)
    assert run.stderr == ""
    assert run.stdout.split() == ["1" if "-O" in options[0] else "2", "3"]


WARNED = "def f(x):\n return x is 1, '\\d', (1)\n"


@pytest.mark.parametrize("action", ["error", "always"])
def test_warnings_about_the_text_are_not_repeated(action):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = made(WARNED)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        assert plain(function)(2) == (False, "\\d", 1)
    assert seen == []
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        compile(WARNED, "<other>", "exec")
    assert len(seen) == 2


def test_results_are_kept_for_each_code_object(monkeypatch):
    function = made("def f(x): return x\n")
    first = instrumented(function).code
    assert find_definition(function.__code__, {}) is not None
    monkeypatch.setattr(source_text, "_in_lines", None)
    assert instrumented(function).code is first
