"""`axiomjit.__all__` is sorted and is exactly what a user sees."""

import tomllib
from types import ModuleType, SimpleNamespace

import axiomjit
from tests.structure.sources import ROOT


def visible_names(package) -> list[str]:
    """Public names of a package, its submodules left out, in order."""
    public = (name for name in vars(package) if not name.startswith("_"))
    return sorted(name for name in public if not isinstance(getattr(package, name), ModuleType))


def test_all_is_sorted_and_visible():
    assert axiomjit.__all__ == visible_names(axiomjit)


def test_dir_shows_what_is_public():
    modules = {"descriptions", "errors", "notation", "transformers"}
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
