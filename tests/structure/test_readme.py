"""The examples of the README and the docs run, and the README has the two commands."""

import re

import pytest

from tests.structure.sources import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMANDS = (
    "pip install -e . && axiomjit demo",
    'pip install -e ".[test]" && python -m pytest -n auto',
)


def run_blocks(text: str, page: str) -> int:
    """Run the Python blocks of a page in one namespace; how many there were."""
    namespace = {"__name__": "__example__"}
    blocks = list(BLOCK.finditer(text))
    for block in blocks:
        padding = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(padding + block[1], page, "exec"), namespace)
    return len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_run(page):
    run_blocks(page.read_text(encoding="utf-8"), str(page))


def test_readme_has_the_two_commands_and_an_example():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert [command for command in COMMANDS if command not in text.splitlines()] == []
    assert BLOCK.search(text)


def test_planted_failing_example_is_found():
    good = "text\n```python\nx = 1\n```\n```\nnot python\n```\n"
    assert run_blocks(good + "```python\nassert x == 1\n```\n", "page.md") == 2
    with pytest.raises(ZeroDivisionError) as caught:
        run_blocks(good + "```python\n1 / 0\n```\n", "page.md")
    assert str(caught.traceback[-1].path) == "page.md"
    assert caught.traceback[-1].lineno + 1 == 9
