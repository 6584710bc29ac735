"""The walk over objects that refer to each other."""

import ast

from axiomjit.base.tree import reachable
from tests.structure.sources import read_sources


def entries(path, value):
    return value.items() if isinstance(value, dict) else ()


def test_paths_and_values_come_depth_first():
    walk = reachable(({"a": {"b": 1}, "c": 2}, 3), entries)
    found = [(path, value) for path, value in walk if not isinstance(value, dict)]
    assert found == [((0, "a", "b"), 1), ((0, "c"), 2), ((1,), 3)]


def test_what_goes_round_is_entered_once():
    inner = {}
    outer = {"one": inner, "two": inner}
    inner["out"] = outer
    assert [path for path, _ in reachable((outer,), entries)] == [
        *((0,), (0, "one"), (0, "one", "out"), (0, "two"))
    ]


def test_limits():
    deep = {}
    for _ in range(100_000):
        deep = {"in": deep}
    assert sum(1 for _ in reachable((deep,), entries, most=10)) == 10
    twice = {"one": (shared := {"x": 1}), "two": shared}
    paths = [path for path, _ in reachable((twice,), entries, again=True)]
    assert paths[-1] == (0, "two", "x")


def test_operands_holders_and_static_keys_have_no_walk_of_their_own():
    paths = "tracing/operands.py", "tracing/trace.py", "dispatch/arguments.py"
    sources = read_sources("axiomjit")
    walks = {
        path
        for path, source in sources.items()
        if path.endswith(paths)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.While)
    }
    assert not walks
