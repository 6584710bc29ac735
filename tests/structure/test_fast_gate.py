"""The fast gate and the hooks run what CONTRIBUTING says, and leave `.ci/run` as it is."""

import re

from tests.conftest import FAST, SLOW_FILES, TESTS
from tests.structure.sources import ROOT, clone_only


def test_this_test_is_fast(request):
    assert request.node.get_closest_marker("fast")
    assert not request.node.get_closest_marker("slow")


def test_named_files_and_folders_exist():
    assert [name for name in (*FAST, *SLOW_FILES) if not (TESTS / name).exists()] == []
    assert all(name.startswith(FAST) for name in SLOW_FILES)


@clone_only
def test_the_gate_runs_linters_types_and_fast_tests():
    text = (ROOT / ".ci" / "fast").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith(("ruff", "mypy", "python"))]
    folders = " ".join(f"tests/{folder}" for folder in FAST)
    assert lines == [
        "ruff check",
        "ruff format --check",
        "mypy",
        f'python -m pytest -q -n auto -m fast {folders} "$@"',
    ]
    assert ".ci/fast" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    assert "-m fast" not in (ROOT / ".ci" / "run").read_text("utf-8")


@clone_only
def test_hooks_need_no_network():
    text = (ROOT / ".pre-commit-config.yaml").read_text("utf-8")
    assert re.findall(r"repo: (.+)", text) == ["local"]
    assert set(re.findall(r"language: (.+)", text)) == {"system"}
    assert "tests/structure" in text
