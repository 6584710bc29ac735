"""Docstrings of public names: examples run, and sources are those of docs/sources.md."""

import ast
import contextlib
import doctest
import importlib
import inspect
import pkgutil
import re

import numpy as np
import pytest

import axiomjit
from tests.structure.sources import FOLDERS, ROOT, nodes_of, read_sources

SOURCES = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
FILE_NAME = re.compile(r"\b\w*_?[0-9a-f]{12,}\w*\b|\b\w+\.txt\b|\bseeds? \d|\bdesign \d")
"""Names of files that nobody outside has, and sections of documents that are not here."""
CITATION = re.compile(r'\(((?:ngraph|Theano|OCANNL|[A-Z]\w+) [\w ]+)(?:, "([^"]+)"|[:)])')
WITH_EXAMPLES = (
    "jit",
    "sum",
    "dot",
    "make_axis",
    "constant",
    "placeholder",
    "Tensor",
    "NamedArray",
)


def documented() -> dict[str, object]:
    """Every public name, and every public attribute of public classes, by its name."""
    owners = {name: getattr(axiomjit, name) for name in axiomjit.__all__}
    owners["jitted function"] = type(axiomjit.jit(np.sqrt))
    for module in (axiomjit.descriptions, axiomjit.base.errors, axiomjit.transformers):
        own = {n: v for n, v in vars(module).items() if inspect.isclass(v) or inspect.isfunction(v)}
        ours = {n for n, v in own.items() if v.__module__.startswith("axiomjit") and n[0] != "_"}
        owners |= {name: own[name] for name in sorted(ours)}
    found = dict(owners)
    for name, owner in owners.items():
        if not inspect.isfunction(owner):
            kind = owner if inspect.isclass(owner) else type(owner)
            for attribute, value in vars(kind).items():
                method = inspect.isfunction(value) or isinstance(value, property)
                if method and not attribute.startswith("_"):
                    found[f"{name}.{attribute}"] = value
    return found


PUBLIC = documented()


def docstrings(sources: dict[str, str]) -> dict[str, str]:
    """Every docstring of a tree, texts under assignments included, by its place."""
    found = {}
    for path, source in sources.items():
        for node in nodes_of(source):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                text = node.value.value
                if isinstance(text, str):
                    found[f"{path}:{node.lineno}"] = text
    return found


def riddles(texts: dict[str, str]) -> list[str]:
    """Places of texts that name files or documents which readers cannot look up."""
    return [f"{where}: {m[0]}" for where, text in texts.items() if (m := FILE_NAME.search(text))]


def unresolved(texts: dict[str, str], page: str) -> list[str]:
    """Citations of sources or sections that a page does not have."""
    chapters = [chapter.partition("\n") for chapter in re.split("^## ", page, flags=re.MULTILINE)]
    names = {name for name, _, _ in chapters}
    sections = {
        (name, section)
        for name, _, body in chapters
        for section in re.findall(r'^\| "([^"]+)"', body, re.MULTILINE)
    }
    found = []
    for where, text in texts.items():
        for name, section in CITATION.findall(" ".join(text.split())):
            known = (name, section) in sections if section else name in names
            if not known and (section or name.split()[0] in ("ngraph", "Theano", "OCANNL")):
                found.append(f"{where}: {name}" + (f", {section!r}" if section else ""))
    return found


def test_no_docstring_names_what_readers_cannot_look_up():
    assert riddles(docstrings(read_sources(*FOLDERS))) == []
    assert riddles({name: inspect.getdoc(value) or "" for name, value in PUBLIC.items()}) == []


def test_every_source_is_on_the_page():
    texts = docstrings(read_sources(*FOLDERS))
    public = {name: inspect.getdoc(value) or "" for name, value in PUBLIC.items()}
    assert unresolved(texts | public, SOURCES) == []
    cited = [c for text in texts.values() for c in CITATION.findall(" ".join(text.split()))]
    assert len([c for c in cited if c[0].startswith("ngraph")]) > 20


def test_modules_on_the_page_exist():
    names = {m.name for m in pkgutil.walk_packages(axiomjit.__path__, "axiomjit.")}
    listed = set(re.findall(r"`([a-z_.]+)`", SOURCES)) - {"axis.t"}
    for name in listed:
        if name != "axis.T":
            assert f"axiomjit.{name}" in names, name
            assert importlib.import_module(f"axiomjit.{name}")


@pytest.mark.parametrize("name", list(PUBLIC))
def test_public_names_say_what_they_are(name):
    first, _, rest = (inspect.getdoc(PUBLIC[name]) or "").partition("\n")
    assert first.endswith(".")
    assert len(first) <= 100
    assert not rest or rest.startswith("\n")


EXAMPLES = {name: value for name, value in PUBLIC.items() if ">>>" in (value.__doc__ or "")}


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_examples_run(name):
    run_examples(EXAMPLES[name].__doc__, name)


def run_examples(text: str, name: str) -> None:
    """Run the examples of a docstring as in a session that has imported both packages."""
    session = {"aj": axiomjit, "np": np, "__name__": "__main__"}
    parsed = doctest.DocTestParser().get_doctest(text, session, name, name, 0)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.FAIL_FAST)
    complaints: list[str] = []
    with contextlib.redirect_stdout(None):
        result = runner.run(parsed, out=complaints.append)
    assert result.attempted
    assert not result.failed, "".join(complaints)


def test_what_newcomers_meet_first_has_examples():
    assert [name for name in WITH_EXAMPLES if name not in EXAMPLES] == []
    assert len(EXAMPLES) >= 14


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("see 7_0123456789abcdef.rst", True),
        ("see notes.txt", True),
        ("as seed 002 has it", True),
        ("a tree (design 4.7)", True),
        ('(ngraph axes, "Dot operation")', False),
        ("a design of 4 loops", False),
    ],
)
def test_planted_names_are_found(text, bad):
    assert bool(riddles({"x": text})) is bad


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ('(ngraph axes, "Dot operation")', False),
        ('(ngraph axes, "Dot\n    operation")', False),
        ('(ngraph axes, "Dots")', True),
        ('(ngraph loops, "Dot operation")', True),
        ("(ngraph loops)", True),
        ("(ngraph tensors: flattening)", False),
        ("(Python numbers)", False),
    ],
)
def test_planted_citations_are_judged(text, bad):
    assert bool(unresolved({"x": text}, SOURCES)) is bad


def test_planted_examples_are_run():
    run_examples("x\n\n    >>> 1 + 1\n    2\n", "right")
    with pytest.raises(AssertionError, match=r"Expected:\s+3\s+Got:\s+2"):
        run_examples("x\n\n    >>> 1 + 1\n    3\n", "wrong")
