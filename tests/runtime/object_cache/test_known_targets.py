"""What LLVM says of a processor, kept on disk: it is found again where all that decides fits."""

import random
import sys

import pytest

from axiomjit.base.config import config
from axiomjit.base.target import NATIVE, ChosenTarget, Target, find_target
from axiomjit.runtime.object_cache import store
from axiomjit.runtime.object_cache.store import (
    ObjectStore,
    compiler_versions,
    pack_target,
    target_key,
    unpack_target,
)

pytestmark = pytest.mark.skipif(
    store.processor_answers() is None, reason="this processor is not asked"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is not there yet; no shared folder."""
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "kernels"))
    monkeypatch.setattr(config, "cache_shared", "")
    return tmp_path / "kernels"


def test_a_second_process_asks_llvm_nothing(folder, monkeypatch):
    first, second = ChosenTarget(NATIVE), ChosenTarget(NATIVE)
    assert ObjectStore().record_of(first) == find_target(NATIVE)
    assert [path.suffix for path in folder.iterdir()] == [".target"]
    monkeypatch.setattr("axiomjit.base.target.find_target", None)
    assert ObjectStore().record_of(second) == first.record
    assert second.is_found


def test_what_is_found_already_is_neither_read_nor_kept(folder):
    known = Target(NATIVE, "znver4")
    assert ObjectStore().record_of(ChosenTarget(NATIVE, known)) is known
    assert not folder.exists()


def test_without_a_folder_llvm_is_asked(monkeypatch):
    monkeypatch.setattr(config, "cache_dir", "")
    assert ObjectStore().record_of(ChosenTarget(NATIVE)) == find_target(NATIVE)


def test_the_key_tells_apart_all_that_decides(monkeypatch):
    found = [target_key(NATIVE), target_key("x86-64-v2")]
    answers = store.processor_answers()
    monkeypatch.setattr(store, "processor_answers", lambda: (*answers, 1))
    found.append(target_key(NATIVE))
    monkeypatch.setenv("NUMBA_CPU_NAME", "haswell")
    found.append(target_key(NATIVE))
    monkeypatch.setattr(store, "maker_digest", lambda: "another")
    found.append(target_key(NATIVE))
    assert len(set(found)) == len(found)
    monkeypatch.setattr(store, "maker_digest", lambda: None)
    assert target_key(NATIVE) is None


def test_finders_that_find_no_specs_are_passed_over(monkeypatch):
    expected = compiler_versions()
    monkeypatch.setattr(sys, "meta_path", [object(), *sys.meta_path])
    assert compiler_versions.__wrapped__() == expected


def test_a_processor_says_the_same_each_time():
    answers = store.processor_answers()
    assert answers == store.processor_answers.__wrapped__()
    assert len(answers) > 20


def test_a_damaged_record_is_none():
    record = find_target(NATIVE)
    whole = pack_target("1" * 64, record)
    assert unpack_target("1" * 64, NATIVE, whole) == record
    assert unpack_target("2" * 64, NATIVE, whole) is None
    assert unpack_target("1" * 64, "x86-64-v2", whole) is None
    draw = random.Random(5)
    for _ in range(300):
        data = bytearray(whole[: draw.choice([len(whole), draw.randrange(len(whole))])])
        if len(data) == len(whole):
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        assert unpack_target("1" * 64, NATIVE, bytes(data)) is None


def test_a_planted_record_is_replaced(folder):
    store = ObjectStore()
    store.record_of(ChosenTarget(NATIVE))
    (path,) = folder.iterdir()
    path.write_bytes(pack_target(path.stem, find_target(NATIVE))[:-1])
    assert ObjectStore().record_of(ChosenTarget(NATIVE)) == find_target(NATIVE)
    assert unpack_target(path.stem, NATIVE, path.read_bytes()) == find_target(NATIVE)
