"""Texts drawn for readers come from everywhere, with places, and depend on the seed alone."""

from tests.structure.sample import drawn, names, sentences
from tests.structure.sources import read_sources

SOURCE = '''"""A module. It has
two sentences.

- no sentence
"""

LIMIT = 3
"""How many."""


class Box:
    """A box."""

    width: int

    def __init__(self):
        """Make one."""

    def area(self):
        """Its area, e.g. 2.5 of them.

        Args:
            self: not read,
                nor written. Twice.

        Raises:
            ValueError: there is none.
        """
'''


def test_sentences_and_names_have_places():
    assert sentences({"a.py": SOURCE}) == [
        ("a.py:1", "A module."),
        ("a.py:1", "It has two sentences."),
        ("a.py:8", "How many."),
        ("a.py:12", "A box."),
        ("a.py:17", "Make one."),
        ("a.py:20", "Its area, e.g. 2.5 of them."),
        ("a.py:20", "not read, nor written."),
        ("a.py:20", "Twice."),
        ("a.py:20", "there is none."),
    ]
    assert sorted(names({"a.py": SOURCE})) == [
        ("a.py:11", "Box (class)"),
        ("a.py:14", "width (field of Box)"),
        ("a.py:19", "area (function)"),
        ("a.py:7", "LIMIT (constant)"),
    ]


def test_a_seed_draws_the_same_and_another_seed_others():
    sources = read_sources("passes")
    text = drawn(sources, 1, 60)
    assert text == drawn(sources, 1, 60)
    assert text != drawn(sources, 2, 60)
    places = [line for line in text.splitlines() if line and line[0] != " " and ".py:" in line]
    assert len(places) == 120
    assert len({place.rpartition("/")[0] for place in places}) > 4
