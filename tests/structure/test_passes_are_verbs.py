"""One pass, one file, one verb; each says what it needs, gives and keeps, and has its tests."""

import ast
import fnmatch

import pytest

from tests.structure.sources import nodes_of, parsed, read_sources

NO_PASS = ("__init__.py",)
CLAUSES = ("Needs:", "Gives:", "Keeps:")


def pass_faults(name: str, source: str) -> list[str]:
    """What is wrong with one file of a form's passes."""
    file = name.rpartition("/")[2]
    if any(fnmatch.fnmatch(file, pattern) for pattern in NO_PASS):
        return []
    verb = file.removesuffix(".py")
    public = [
        node
        for node in parsed(source).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
    ]
    if [node.name for node in public] != [verb]:
        return [f"{name}: public functions {[node.name for node in public]}, not just {verb}"]
    lines = (ast.get_docstring(public[0]) or "").splitlines()
    missing = [clause for clause in CLAUSES if not any(line.startswith(clause) for line in lines)]
    return [f"{name}: docstring of {verb} has no line {clause}" for clause in missing]


def missing_tests(passes: list[str], sources: dict[str, str]) -> list[str]:
    """Tests that passes of the pipeline should have and do not."""
    present = {
        node.name
        for source in sources.values()
        for node in nodes_of(source)
        if isinstance(node, ast.FunctionDef)
    }
    wanted = [f"test_{verb}_{kind}" for verb in passes for kind in ("golden", "leaves_alone")]
    return [name for name in wanted if name not in present]


def test_each_file_is_one_pass():
    sources = read_sources(*(f"passes/{form}" for form in ("graph", "views", "loops", "plan")))
    assert sources
    assert [fault for item in sources.items() for fault in pass_faults(*item)] == []


def test_each_pass_of_the_pipeline_has_its_tests():
    from axiomjit.passes.pipeline import PASSES

    names = [function.__name__ for function in PASSES]
    assert names
    assert missing_tests(names, read_sources("tests/passes")) == []


DOC = '    """Fuse.\n\n    Needs: a\n    Gives: b\n    Keeps: c\n    """\n'


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        (f"def fuse(g):\n{DOC}", None),
        (f"def _help(): ...\ndef fuse(g):\n{DOC}", None),
        (f"def fuse(g):\n{DOC}\ndef merge(g):\n{DOC}", "['fuse', 'merge'], not just fuse"),
        (f"def fusing(g):\n{DOC}", "['fusing'], not just fuse"),
        ("", "[], not just fuse"),
        ("def fuse(g): ...", "no line Needs:"),
        ("def fuse(g):\n" + DOC.replace("Keeps", "Holds"), "no line Keeps:"),
    ],
)
def test_planted_pass_is_judged(source, fault):
    found = pass_faults("passes/fuse.py", source)
    assert (fault in found[0]) if fault else found == []


def test_planted_pipeline_entry_without_tests_is_found():
    sources = {"test_fuse.py": "def test_fuse_golden(): ..."}
    assert missing_tests(["fuse"], sources) == ["test_fuse_leaves_alone"]
