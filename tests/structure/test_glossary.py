"""Words of ours are few, explained and used; words that were given up do not come back."""

import ast
import re

import pytest

from tests.structure.sources import FOLDERS, ROOT, nodes_of, read_sources
from tests.structure.test_docstrings import docstrings

MOST = 40
ENTRY = re.compile(r"^\| ([a-z][a-z -]*(?:, [a-z -]+)*) \| \S.*\|$", re.MULTILINE)

RETIRED = {
    "Advice": "HeuristicScope",
    "CHOSEN": "data_dependent",
    "Changed": "MutatedOperand",
    "EAGER": "ALWAYS_UNTIL",
    "EIGHTH": "EVICT_FRACTION",
    "Followed": "TracedFunction",
    "ForeseenCall": "ProbedCall",
    "Held": "Constant",
    "KEPT": "MAX_IDLE_KERNELS",
    "LatePass": "OptionalPass",
    "LateRows": "LazyRegistry",
    "LeftError": "FallbackToNumPy",
    "NativeRest": "continuation",
    "OpaqueCall": "ExternalCall",
    "Pick": "Select",
    "Ready": "CompiledCall",
    "Requirement": "Guard",
    "Take": "ReadState",
    "UnaskedError": "NotDispatchedError",
    "algebra": "symbolic",
    "assembling": "run_and_unflatten",
    "at_hand": "concrete_value",
    "attempts": "speculative_run",
    "call_classes": "signature",
    "changes_nothing": "is_identity",
    "digests": "hashing",
    "driver": "dispatch",
    "drop_packs": "elide_copies",
    "foresee": "infer_by_probe",
    "foreseen": "ProbedCall",
    "guarded_calls": "native_callable",
    "immortal": "keep_alive",
    "import_late": "lazy_import",
    "keep_rows": "cache_rows",
    "kept_code": "cached_code",
    "kept_properties": "cached_property",
    "late_checks": "require",
    "late_passes": "OptionalPass",
    "late_rows": "LazyRegistry",
    "looks": "poll_every",
    "number_kinds": "Kind",
    "numpy_table": "numpy_rules",
    "opaque": "ExternalCall",
    "or_opaquely": "or_external_call",
    "standings": "ranking",
    "stranger": "leaked_tracer_error",
    "vector_math": "elementary",
    "watch_loops": "insert_cancellation_checks",
}
"""Names that were given up, and the name in the code that took their place."""
PROSE = {
    "algebra",
    "assembling",
    "attempts",
    "call_classes",
    "changes_nothing",
    "driver",
    "guarded_calls",
    "immortal",
    "import_late",
    "kept_properties",
    "late_passes",
    "late_rows",
    "number_kinds",
    "standings",
    "stranger",
    "vector_math",
}
"""Names that docstrings do not have as words either; of the others they may, as plain English."""


def entries(page: str) -> list[str]:
    """The words that a page explains; one line may explain two."""
    return [word for entry in ENTRY.findall(page)[1:] for word in entry.split(", ")]


def names(sources: dict[str, str]) -> dict[str, str]:
    """Every name that a tree defines, and of its files and folders, with one place of each."""
    found = {}
    for path, source in sources.items():
        found |= dict.fromkeys(path.removesuffix(".py").split("/"), path)
        for node in nodes_of(source):
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                    found[name] = f"{path}:{node.lineno}"
                case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                    found[name] = f"{path}:{node.lineno}"
    return found


def retired_names(sources: dict[str, str]) -> list[str]:
    """Definitions and docstrings with words that were given up."""
    used = names(sources)
    found = [f"{used[old]}: {old}, now {RETIRED[old]}" for old in RETIRED if old in used]
    quoted = re.compile(rf"`({'|'.join(RETIRED)})`")
    prose = re.compile(rf"\b({'|'.join(sorted(PROSE))})\b")
    for place, text in docstrings(sources).items():
        old = quoted.findall(text) + prose.findall(text)
        found += [f"{place}: {word}, now {RETIRED[word]}" for word in old]
    return found


SOURCES = read_sources(*FOLDERS)


def test_there_are_few_entries_in_order():
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    lines = ENTRY.findall(page)[1:]
    assert len(lines) <= MOST
    assert lines == sorted(lines)
    assert len(lines) == page.count("\n|") - 2, "an entry that the test does not read"


def test_each_entry_is_used():
    text = " ".join("\n".join(SOURCES.values()).lower().replace("_", " ").split())
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8")
    assert [word for word in entries(page) if not re.search(rf"\b{word}s?\b", text)] == []


def test_retired_words_do_not_come_back():
    assert retired_names(SOURCES) == []


def test_each_retired_word_has_a_successor_in_the_code():
    known = " ".join("\n".join(SOURCES.values()).split())
    missing = [word for word in RETIRED.values() if not re.search(rf"\b{word}\b", known)]
    assert missing == []
    assert set(RETIRED) >= PROSE


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("driver/a.py", ""),
        ("a.py", "class Ready: ..."),
        ("a.py", "def f(immortal): ..."),
        ("a.py", "x.looks = 1"),
        ("a.py", '"""See `Held`."""'),
        ("a.py", 'X = 1\n"""The driver of the call."""'),
    ],
)
def test_planted_words_are_found(path, source):
    assert len(retired_names({path: source})) == 1


def test_plain_english_stays():
    assert retired_names({"a.py": '"""Take what is held ready, if it looks right."""'}) == []
    page = "| word | meaning |\n|---|---|\n| body part, combine part | two |\n| lane | one |\n"
    assert entries(page) == ["body part", "combine part", "lane"]
