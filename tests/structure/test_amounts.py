"""Messages say `1 operand` and `2 operands`: a counted noun is written by `amount`."""

import re

import pytest

from tests.structure.sources import read_sources

COUNTED = re.compile(r"\{(?:len\([^{}]*\)|count)\} [a-z]+s\b")
OTHERS = {
    "axiomjit/base/records.py": "of our own calls",
    "axiomjit/cli/demo.py": "of two columns or more",
    "axiomjit/dispatch/retrace_reasons.py": "of eight or more",
    "axiomjit/graph/verify_graph.py": "of our own graphs",
    "axiomjit/numpy_rules/neighbours.py": "NumPy's own text",
    "axiomjit/tracing/writes.py": "NumPy's own text",
}


def test_counted_nouns_agree_with_their_number():
    found = {path for path, text in read_sources("axiomjit").items() if COUNTED.search(text)}
    assert found <= OTHERS.keys()


@pytest.mark.parametrize("text", ["f'{len(nodes)} operands'", "f'a call of {count} arrays'"])
def test_planted_counts_are_found(text):
    assert COUNTED.search(text)
