"""Generated source and names are written, never read: what they say is in records."""

import re

import pytest

from tests.structure.sources import read_sources

FOLDERS = ("axiomjit", "passes", "runtime")
IMPORTS = re.compile(r"^(?:import re|from re import .*)$", re.MULTILINE)
READS_NAMES = re.compile(
    r"\bint\(\w+(?:\.name)?\[1:\]\)|name\[(?:0|:1)\](?! *=[^=])|[\"'](?:def|for) [\"']\)"
    r"|name\.startswith\([\"'][a-z][\"']\)",
    re.IGNORECASE,
)
PATTERNS = {
    "axiomjit/base/target.py": "names of features, which LLVM and the user write",
    "runtime/codegen/compile_source.py": "statistics of assembly",
}


def found_in(pattern: re.Pattern[str], sources: dict[str, str]) -> list[str]:
    """The files in which a pattern is found."""
    return sorted(path for path, text in sources.items() if pattern.search(text))


def test_regular_expressions_are_where_text_comes_from_outside():
    assert found_in(IMPORTS, read_sources(*FOLDERS)) == sorted(PATTERNS)


def test_no_role_or_number_is_read_off_a_name():
    assert found_in(READS_NAMES, read_sources(*FOLDERS)) == []


@pytest.mark.parametrize(
    "text",
    [
        "k = int(name[1:])",
        "int(b.name[1:])",
        "if b.name[0] == 'p':",
        "if name[0] == 'v':",
        "match Name[0]:",
        "if buffer.name[:1] in letters:",
        "if buffer_name.startswith('p'):",
        'line.startswith("for ")',
    ],
)
def test_the_rule_sees_what_it_forbids(text):
    assert found_in(READS_NAMES, {"a": text, "b": "x = name[1]"}) == ["a"]
