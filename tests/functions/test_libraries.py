"""Functions of the standard library pass their tests, or their examples, when instrumented."""

import doctest
import importlib
import types
import unittest

import pytest

from axiomjit.functions.instrument import NotInstrumentedError
from tests.functions.plain_hooks import plain

TESTED = {
    "textwrap": "test_textwrap",
    "fractions": "test_fractions",
    "heapq": "test_heapq",
    "colorsys": "test_colorsys",
    "shlex": "test_shlex",
    "html.parser": "test_htmlparser",
    "configparser": "test_configparser",
    "json.decoder": "test_json.test_decode",
}
WITH_EXAMPLES = ("statistics", "string", "calendar", "difflib", "heapq", "random")
MOST_TESTS = 40


class Module:
    """A module whose functions are instrumented, and put back at the end."""

    def __init__(self, module, monkeypatch):
        self.module, self.monkeypatch = module, monkeypatch
        self.made, self.refused = {}, []
        for name, value in list(vars(module).items()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                for key, part in list(vars(value).items()):
                    self._change(value, key, part)
            else:
                self._change(module, name, value)

    def _change(self, owner, name, value):
        new = self._instrumented(value)
        if new is not value:
            self.monkeypatch.setattr(owner, name, new)

    def _instrumented(self, value):
        if isinstance(value, staticmethod | classmethod):
            return type(value)(self._instrumented(value.__func__))
        if type(value) is property:
            parts = (value.fget, value.fset, value.fdel)
            return property(*map(self._instrumented, parts), value.__doc__)
        if not isinstance(value, types.FunctionType) or value.__module__ != self.module.__name__:
            return value
        if value not in self.made:
            self.made[value] = self._copy(value)
        return self.made[value]

    def _copy(self, function):
        try:
            made = plain(function)
        except NotInstrumentedError as error:
            self.refused.append(error.reason)
            return function
        made.__dict__.update(function.__dict__)
        made.__doc__, made.__annotations__ = function.__doc__, function.__annotations__
        made.__module__ = function.__module__
        return made


# `assertWarns` asks every module that is loaded for its attributes, also deprecated ones.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", TESTED)
def test_tests_of_modules_pass(name, monkeypatch):
    module = importlib.import_module(name)
    tests = pytest.importorskip(f"test.{TESTED[name]}", reason="Python without its tests")
    changed = Module(module, monkeypatch)
    assert len(changed.made) > len(changed.refused)
    suite = unittest.defaultTestLoader.loadTestsFromModule(tests)
    cases = [case for case in _cases(suite) if not isinstance(case, doctest.DocTestCase)]
    step = -(-len(cases) // MOST_TESTS)
    result = unittest.TestResult()
    unittest.TestSuite(cases[::step]).run(result)
    assert result.testsRun > 5
    assert [trace for _, trace in result.failures + result.errors] == []


def _cases(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from _cases(part)
        else:
            yield part


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_modules_pass(name, monkeypatch):
    module = importlib.import_module(name)
    examples = [e for e in doctest.DocTestFinder().find(module) if e.examples]
    changed = Module(module, monkeypatch)
    assert len(changed.made) > len(changed.refused)
    runner = doctest.DocTestRunner(verbose=False)
    for example in examples:
        example.globs = dict(vars(module))
        assert runner.run(example, out=[].append).failed == 0
