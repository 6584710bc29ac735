"""The structure tests see every real file once, and packaging lists every package."""

import tomllib

from tests.structure.sources import FOLDERS, ROOT, clone_only, python_files, read_sources


@clone_only
def test_each_folder_is_seen_and_no_file_twice():
    names = list(read_sources(*FOLDERS))
    assert {name.split("/")[0] for name in names} == set(FOLDERS)
    assert not [name for name in names if name.startswith(("axiomjit/passes/", "axiomjit/bench/"))]


def test_packaging_lists_every_package():
    setuptools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    packages = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in python_files(*FOLDERS)
        if path.name == "__init__.py"
    }
    linked = {name if name.startswith("axiomjit") else f"axiomjit.{name}" for name in packages}
    assert set(setuptools["packages"]) == linked
    assert {p.parent for p in python_files(*FOLDERS)} == {
        p.parent for p in python_files(*FOLDERS) if p.name == "__init__.py"
    }
