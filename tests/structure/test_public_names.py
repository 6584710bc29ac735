"""`axiomjit.__all__` is sorted and is exactly what a user sees."""

import ast
import tomllib
from types import ModuleType, SimpleNamespace

import pytest

import axiomjit
from axiomjit.axis.elementwise import FUNCTIONS
from tests.structure.sources import ROOT


def visible_names(package) -> list[str]:
    """Public names of a package, its submodules left out, in order."""
    public = (name for name in vars(package) if not name.startswith("_"))
    return sorted(name for name in public if not isinstance(getattr(package, name), ModuleType))


def test_all_is_sorted_and_visible():
    for name in axiomjit.__all__:  # most are imported by the first look at them
        getattr(axiomjit, name)
    assert axiomjit.__all__ == visible_names(axiomjit)


def test_type_checkers_see_all_names_that_are_no_rows():
    """Rows of the table of primitives are known to the running program alone."""
    tree = ast.parse((ROOT / "axiomjit" / "__init__.py").read_text(encoding="utf-8"))
    listed = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # `import x as x` is how they are told of a public name
    }
    modules = {"descriptions", "errors", "notation", "numpy", "transformers"}
    assert set(axiomjit.__all__) - set(FUNCTIONS) <= listed - modules <= set(axiomjit.__all__)


@pytest.mark.parametrize("name", ["summ", "_hidden"])
def test_unknown_names_are_refused(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(axiomjit, name)


def test_dir_shows_what_is_public():
    modules = {"descriptions", "errors", "notation", "numpy", "transformers"}
    assert set(dir(axiomjit)) == {*axiomjit.__all__, *modules, "__version__"}
    assert {name for name in dir(axiomjit) if isinstance(getattr(axiomjit, name), ModuleType)} == (
        modules
    )


def test_the_version_is_that_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert axiomjit.__version__ == project["version"]


def test_planted_name_is_found():
    package = SimpleNamespace(jit=len, cli=ModuleType("cli"), _hidden=1, extra=2)
    assert visible_names(package) == ["extra", "jit"]
