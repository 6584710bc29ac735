"""`axiomjit.__all__` is sorted and is exactly what a user sees."""

from types import ModuleType, SimpleNamespace

import axiomjit


def visible_names(package) -> list[str]:
    """Public names of a package, its submodules left out, in order."""
    public = (name for name in dir(package) if not name.startswith("_"))
    return sorted(name for name in public if not isinstance(getattr(package, name), ModuleType))


def test_all_is_sorted_and_visible():
    assert axiomjit.__all__ == visible_names(axiomjit)


def test_planted_name_is_found():
    package = SimpleNamespace(jit=len, cli=ModuleType("cli"), _hidden=1, extra=2)
    assert visible_names(package) == ["extra", "jit"]
