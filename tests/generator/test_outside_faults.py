"""The campaign of functions with state outside them finds each guard or effect that is left out."""

import pytest

from axiomjit.dispatch import caches, tracing_calls
from axiomjit.functions import effects, sources
from axiomjit.functions.outside import Outside
from tests.generator.outside import failure
from tests.generator.sequences import way
from tests.generator.test_outside import FOUND

GUARDS = {
    "Is": "a generator that is replaced",
    "Unchanged": "code that is set anew",
    "Equals": "a number in a cell",
    "Length": "a length that decides",
    "Keys": "the order of an OrderedDict",
    "Same": "one dict under two names",
    "Distinct": "two dicts that become one",
    "Elements": "elements that decide",
    "Defined": "a key that is there",
}
"""Kinds of guards, and the case of the campaign that shows that one is left out."""
PARTS = {
    "Item": "an update by names",
    "Attribute": "another value of an attribute",
    "ClassAttribute": "an attribute of the class that is shadowed",
    "FunctionPart": "defaults that are set anew",
    "Class": "a class that is asked for",
    "Contents": "a number in a cell",
}
"""The same of sources whose values are not guarded."""
EFFECTS = {
    "attribute": "a store by setattr",
    "plain attribute": "a __setattr__ that is set anew",
    "delete attribute": "an attribute that is deleted",
    "delete plain attribute": "a deletion past a class",
    "item": "a count in a dict",
    "delete item": "an entry that is deleted",
    "cell": "a number in a cell",
    "method": "a list within a copied dict",
    "function": "a heap",
    "call": "printed numbers",
}
"""The same of effects that are not done."""


def is_red(name):
    """Whether a case of the campaign fails."""
    with way("evaluated"):
        return failure(FOUND[name]) is not None


def test_each_effect_has_a_case():
    assert EFFECTS.keys() | {"warning", "log"} == effects.HOW.keys()  # these: test_texts.py


def leave_out(monkeypatch, is_left_out):
    """Leave out guards."""
    require = Outside.require

    def without(outside, guard):
        if not is_left_out(guard):
            require(outside, guard)

    monkeypatch.setattr(Outside, "require", without)


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_that_is_left_out_is_found(name, monkeypatch):
    kind = getattr(sources, name)
    leave_out(monkeypatch, lambda guard: type(guard) is kind)
    assert is_red(GUARDS[name])


@pytest.mark.parametrize("name", PARTS)
def test_a_source_that_is_not_guarded_is_found(name, monkeypatch):
    kind = getattr(sources, name)
    leave_out(monkeypatch, lambda guard: type(guard.source) is kind)
    assert is_red(PARTS[name])


@pytest.mark.parametrize("name", EFFECTS)
def test_an_effect_that_is_not_done_is_found(name, monkeypatch):
    monkeypatch.setitem(effects.HOW, name, lambda *_: None)
    assert is_red(EFFECTS[name])


def forget_stored(monkeypatch):
    monkeypatch.setattr(Outside, "stored", lambda *_: None)


def forget_changes(monkeypatch):
    def change(outside, owner, name, given):
        outside.effect("method", owner, name, given)

    monkeypatch.setattr(Outside, "change", change)


def forget_late_changes(monkeypatch):
    whole = Outside.whole

    def without(outside, owner):
        outside._late.pop(id(owner), None)
        return whole(outside, owner)

    monkeypatch.setattr(Outside, "whole", without)


def reverse_effects(monkeypatch):
    def do_effects(replays, vector, values):
        place = len(values)
        for one in reversed(replays):
            place -= one.count
            one.do(vector, values[place : place + one.count])

    monkeypatch.setattr(caches, "do_effects", do_effects)


def forget_identity(monkeypatch):
    monkeypatch.setattr(tracing_calls._TraceOnce, "_leaf", lambda trace, value: value)


RULES = {
    forget_stored: "a count in a dict",
    forget_changes: "one list under two names",
    forget_late_changes: "one list under two names",
    reverse_effects: "a list of two changes",
    forget_identity: "an object from outside that is returned",
}
"""Rules about changes that are left out, and the numbers of cases that show it."""


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_that_is_left_out_is_found(rule, monkeypatch):
    rule(monkeypatch)
    assert is_red(RULES[rule])
