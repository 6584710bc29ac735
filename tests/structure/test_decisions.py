"""Decisions are numbered files with title, date and area, and their index is the generated one."""

import pytest

from tests.structure.sources import ROOT
from tools.decisions import FOLDER, HEAD, index, read_decisions

ENTRY = "# One\n\n2026-01-01 · Language\n\nBecause.\n"


def test_the_index_is_the_generated_one():
    written = (FOLDER / "README.md").read_text("utf-8")
    assert written == index(read_decisions()), "python -m tools.decisions writes it"


def test_dates_grow_with_the_numbers():
    dates = [HEAD.match(text)[2] for _, text in sorted(read_decisions().items())]
    assert dates == sorted(dates)


def test_one_folder_has_all_decisions():
    assert not (ROOT / "docs" / "decisions.md").exists()
    assert {path.suffix for path in FOLDER.iterdir()} == {".md"}


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"0001-one.md": ENTRY.replace("Language", "Weather")}, "0001-one.md: begins with no"),
        ({"0001-one.md": ENTRY.replace("\n\n2026", "\n2026")}, "0001-one.md: begins with no"),
        ({"0001-one.md": ENTRY, "0003-two.md": ENTRY}, "0003-two.md: its number is not 0002"),
    ],
)
def test_planted_faults_are_found(texts, complaint):
    with pytest.raises(ValueError, match=complaint):
        index(texts)


def test_entries_are_listed_by_area():
    page = index({"0001-one.md": ENTRY, "0002-two.md": ENTRY.replace("Language", "Benchmarks")})
    assert page.endswith(
        "## Language\n\n- [0001](0001-one.md) One (2026-01-01)\n\n"
        "## Benchmarks\n\n- [0002](0002-two.md) One (2026-01-01)\n"
    )
