"""What was once done in several ways exists once: walks, guards, versions, dtypes, registries."""

import ast
import re

import pytest

from tests.structure.sources import FOLDERS, nodes_of, read_sources

PLACES = {
    "Binary": {"axiomjit/symbolic/dims.py"},
    "_version": {"axiomjit/graph/storages.py"},
}
"""Names that only the one place uses which walks a length or keeps a version.

Who reads `Binary` takes quotients, minima and maxima apart; all others call `Dim.fold`.
"""


def users(sources, name):
    """The files that use a name, as a variable, an attribute or an import."""
    found = set()
    for path, source in sources.items():
        for node in nodes_of(source):
            if name in (getattr(node, field, None) for field in ("id", "attr", "name")):
                found.add(path)
    return found


@pytest.mark.parametrize("name", list(PLACES))
def test_only_one_place_uses(name):
    assert users(read_sources(*FOLDERS), name) == PLACES[name]


def test_comparisons_of_lengths_are_guards():
    """One class of the tree has the fields of a comparison that is checked later."""
    found = []
    for path, source in read_sources(*FOLDERS).items():
        for node in nodes_of(source):
            if isinstance(node, ast.ClassDef):
                fields = {getattr(one.target, "id", "") for one in node.body if is_field(one)}
                found += [(path, node.name)] if {"left", "right", "outcome"} <= fields else []
    assert found == [("axiomjit/symbolic/dims.py", "Guard")]


def is_field(statement):
    """Whether a statement of a class declares a field."""
    return isinstance(statement, ast.AnnAssign)


def test_users_are_found():
    sources = {"a.py": "from b import Binary", "b.py": "x = d.Binary", "c.py": "Binaries = 1"}
    assert users(sources, "Binary") == {"a.py", "b.py"}


KIND = re.compile(r'\.kind (?:not )?(?:in|==|!=) "[biufc]{1,4}"')


def kinds_tested(sources):
    """Files that test letters of dtypes in place of the predicates of `base/dtypes.py`."""
    return {path for path, text in sources.items() if KIND.search(text)}


def installs(sources):
    """Functions that install others, by file."""
    return {
        (path, node.name)
        for path, text in sources.items()
        for node in nodes_of(text)
        if isinstance(node, ast.FunctionDef) and node.name.startswith("install")
    }


def evictions(sources):
    """Files that drop the oldest entry of a table themselves."""
    return {path for path, text in sources.items() if ".popitem(last=False)" in text}


def test_one_seat_for_dtypes():
    assert kinds_tested(read_sources(*FOLDERS)) == {"axiomjit/base/dtypes.py"}


def test_one_registry():
    assert installs(read_sources("axiomjit", "passes")) == {
        ("axiomjit/graph/execution.py", "install")
    }


def test_one_bounded_table():
    """That of kernels drops those that were not run for longest."""
    found = evictions(read_sources(*FOLDERS))
    assert found == {"axiomjit/base/caching.py", "runtime/codegen/kernel_cache.py"}


PROTOCOL = {"__array_ufunc__", "__array_function__", "__rtruediv__", "__rmatmul__", "__imul__"}


def array_bases(sources):
    """Files with a class that NumPy and its operators call, or that takes NumPy's base for them."""
    found = set()
    for path, text in sources.items():
        for node in nodes_of(text):
            names = {getattr(node, field, None) for field in ("name", "id")}
            if names & {*PROTOCOL, "NDArrayOperatorsMixin"} and not is_read(node):
                found.add(path)
    return found


def is_read(node):
    """Whether a name is used, not bound."""
    return isinstance(getattr(node, "ctx", None), ast.Load)


def spec_scanners(sources):
    """Files that look for the marks of a spec in its text."""
    return {path for path, text in sources.items() if SCANS.search(text)}


SCANS = re.compile(r"""\.(?:partition|split)\(["'](?:->|=>|;)|startswith\((?:mark|ELLIPSIS|FREE)""")


def test_one_scanner_of_specs():
    assert spec_scanners(read_sources("axiomjit")) == {"axiomjit/base/spec_tokens.py"}


def test_one_base_of_array_values():
    assert array_bases(read_sources("axiomjit")) == {"axiomjit/base/array_values.py"}


BRANCH = re.compile(r"\bbr (?:i1|label)\b")


def llvm_writers(sources):
    """Files that write branches of LLVM's text themselves."""
    return {path for path, text in sources.items() if BRANCH.search(text)}


def test_one_builder_of_llvm_text():
    """The benchmark's loop of multiply-adds has vectors, which the builder does not."""
    found = llvm_writers(read_sources(*FOLDERS))
    assert found == {"runtime/object_cache/llvm_text.py", "bench/suite/machine.py"}


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (llvm_writers, "text = ' br label %again'"),
        (array_bases, "class A:\n    def __array_ufunc__(self): ..."),
        (array_bases, "class A:\n    __mul__, __imul__ = f, g"),
        (spec_scanners, "given, arrow, results = text.partition('->')"),
        (array_bases, "from numpy.lib.mixins import NDArrayOperatorsMixin"),
        (kinds_tested, 'if node.dtype.kind in "fc": ...'),
        (installs, "def install_it(x): ..."),
        (evictions, "table.popitem(last=False)"),
    ],
)
def test_planted_doubles_are_found(find, text):
    assert find({"a.py": text})
