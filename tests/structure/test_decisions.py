"""The contents of docs/decisions.md list each of its headings once, under an area."""

import re

from tests.structure.sources import ROOT

LINK = re.compile(r"^- \[(.+)\]\(#(.+)\)$", re.MULTILINE)
HEADING = re.compile(r"^## (\d{4}-\d\d-\d\d): (.+)$", re.MULTILINE)


def anchor(heading: str) -> str:
    """The anchor of a heading, as renderers of Markdown make it."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def wrong_contents(text: str) -> list[str]:
    """Headings that are not listed exactly once, and entries without a heading."""
    contents, _, rest = text.partition("## Contents\n")[2].partition("\n## ")
    listed = LINK.findall(contents)
    headings = {
        (title, anchor(f"{date}: {title}")) for date, title in HEADING.findall("\n## " + rest)
    }
    found = [f"listed {listed.count(head)} times: {head[0]}" for head in sorted(headings)]
    return [line for line in found if not line.startswith("listed 1 ")] + [
        f"no such heading: {title}" for title, link in listed if (title, link) not in headings
    ]


def test_each_decision_is_listed_once():
    assert wrong_contents((ROOT / "docs/decisions.md").read_text("utf-8")) == []


def test_the_rule_sees_what_it_forbids():
    text = (
        "# D\n\n## Contents\n\n### A\n\n- [one](#2026-01-01-one)\n- [one](#2026-01-01-one)\n"
        "- [gone](#2026-01-01-gone)\n\n## 2026-01-01: one\n\n## 2026-01-02: `two`, three\n"
    )
    assert wrong_contents(text) == [
        "listed 0 times: `two`, three",
        "listed 2 times: one",
        "no such heading: gone",
    ]
