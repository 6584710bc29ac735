"""Pages for contributors name files that there are."""

import re

import pytest

from tests.structure.sources import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/one_call.md")
FILE = re.compile(r"`([\w./-]+\.(?:py|md|toml|yaml))`")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
FOLDERS = ("axiomjit", "passes", "runtime", "bench", "tests", "tools", "docs")


def missing_files(text: str, known: set[str]) -> list[str]:
    """Names of files of which there is none, wherever it stands: a page may say "beside it"."""
    return [
        name
        for name in FILE.findall(text)
        if not any(path == name or path.endswith(f"/{name}") for path in known)
    ]


@pytest.fixture(scope="module")
def known():
    """The path of each file below the root, also through the links of the package."""
    found = {path.name for path in ROOT.iterdir()}
    for folder in FOLDERS:
        paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.*")]
        found |= {*paths, *(f"axiomjit/{path}" for path in paths)}
    return found


@pytest.mark.parametrize("page", PAGES)
def test_files_exist(page, known):
    assert missing_files((ROOT / page).read_text("utf-8"), known) == []


@pytest.mark.parametrize(
    "page", [*PAGES[:2], *sorted(p.relative_to(ROOT).as_posix() for p in ROOT.glob("docs/**/*.md"))]
)
def test_links_lead_somewhere(page):
    links = LINK.findall((ROOT / page).read_text("utf-8"))
    links = [link for link in links if "/" in link or link.endswith((".md", ".svg"))]
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []


def test_planted_names_are_found():
    text = "see `a/b.py`, `c.py` beside it, `a/c.py`, `d.py` and `x.y`"
    assert missing_files(text, {"a/b.py", "a/d/c.py"}) == ["a/c.py", "d.py"]
