"""Machine code on disk: what is loaded, what is compiled again, and what is never touched."""

import errno
import os
import pickle
import time

import pytest

from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import CompileError, GraphValueError
from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache import store as directories
from axiomjit.runtime.object_cache.entries import make_entry, pack, unpack
from axiomjit.runtime.object_cache.store import Directory, own_path
from tests.runtime.object_cache.object_runs import (
    DAMAGES,
    SYMBOL,
    Process,
    all_right,
    damage_entries,
    files_by_number,
    kill_processes,
    object_of,
)

BUDGET = 340
"""Damaged entries; `python -m tests.runtime.object_cache.object_runs damage` takes any number."""
KEY = "0" * 64


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder for kernels that is not there yet, empty memory, no shared folder."""
    path = tmp_path / "kernels"
    monkeypatch.setattr(config, "cache_dir", str(path))
    monkeypatch.setattr(config, "cache_shared", "")
    return path


def counted(call, *names):
    """How much these counters grow while something runs."""
    before = stats()
    call()
    after = stats()
    return [after[name] - before[name] for name in names]


def test_an_entry_is_the_same_after_bytes():
    entry = make_entry(KEY, SYMBOL, (object_of(3, "hypot"), object_of(4)), 12.5)
    assert entry.calls == ("hypot",)
    assert unpack(KEY, pack(entry)) == entry
    assert unpack("1" * 64, pack(entry)) is None


def test_what_calls_other_functions_of_the_process_is_no_entry():
    assert make_entry(KEY, SYMBOL, (object_of(3, "getpid"),), 1.0).calls is None


def test_a_second_process_compiles_nothing(folder):
    first, second = Process(), Process()
    assert [first.stored(n) for n in range(5)] == list(range(5))
    answers = []
    grown = counted(
        lambda: answers.extend(second.stored(n) for n in range(6)), "disk_hits", "disk_misses"
    )
    assert answers == list(range(6))
    assert second.compiled == ["planted 5"]
    assert grown == [5, 1]


def test_folder_and_files_are_the_users_alone(folder):
    Process().stored(1)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in folder.iterdir()] == [0o600]


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_entry_is_compiled_again(folder, name):
    assert damage_entries(folder, BUDGET // len(DAMAGES), seed=1, names=(name,)) == {}


def test_killed_processes_leave_nothing_wrong(folder):
    failed, rounds = kill_processes(folder, processes=2, keys=20, kills=4)
    assert failed == 0
    assert rounds > 0
    wrong, _ = all_right(folder, 20)
    assert wrong == 0


class Planted:
    """Unpickling one leaves a mark."""

    def __reduce__(self):
        return (os.mkdir, (os.environ["PLANTED_MARK"],))


def test_a_planted_pickle_is_not_read(folder, tmp_path, monkeypatch):
    mark = tmp_path / "mark"
    monkeypatch.setenv("PLANTED_MARK", str(mark))
    files = files_by_number(folder, Process(), [1])
    files[1].write_bytes(pickle.dumps(Planted()))
    again = Process()
    assert again.stored(1) == 1
    assert again.compiled
    assert not mark.exists()


def links(folder):
    real = folder.with_name("real")
    folder.rename(real)
    folder.symlink_to(real)


def given_away(folder):
    os.chown(folder, 12345, 12345)


DOORS = {
    "a link": links,
    "another owner": given_away,
    "writable by all": lambda folder: folder.chmod(0o777),
    "writable by the group": lambda folder: folder.chmod(0o770),
    "sticky, writable by all": lambda folder: folder.chmod(0o1777),
}


@pytest.mark.parametrize("name", DOORS)
def test_from_a_folder_that_others_can_write_nothing_is_loaded(folder, name):
    if name == "another owner" and os.geteuid() != 0:
        pytest.skip("only root gives folders away")
    Process().stored(1)
    DOORS[name](folder)
    there = sorted(path.name for path in folder.iterdir())
    for number in (1, 2):
        process = Process()
        assert process.stored(number) == number
        assert process.compiled
        assert process.cache._objects.trouble
    assert sorted(path.name for path in folder.iterdir()) == there


def test_a_file_of_another_owner_is_not_loaded(folder):
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    (path,) = files_by_number(folder, Process(), [1]).values()
    os.chown(path, 12345, 12345)
    again = Process()
    assert again.stored(1) == 1
    assert again.compiled
    assert path.stat().st_uid == os.geteuid()  # replaced


@pytest.mark.parametrize("kind", ["file", "below a file", "below nothing that can be made"])
def test_a_folder_that_cannot_be_is_done_without(folder, kind, monkeypatch):
    folder.write_text("a file")
    if kind == "below a file":
        monkeypatch.setattr(config, "cache_dir", str(folder / "kernels"))
    elif kind != "file":
        monkeypatch.setattr(config, "cache_dir", "/proc/axiomjit/kernels")
    process = Process()
    assert [process.stored(n) for n in (1, 2, 1)] == [1, 2, 1]
    assert process.compiled == ["planted 1", "planted 2"]
    assert folder.read_text() == "a file"


@pytest.mark.parametrize("error", ["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EIO"])
def test_without_room_kernels_stay_in_memory(folder, error, monkeypatch):
    Process().stored(1)
    writes = []

    def full(data):
        writes.append(len(data))
        raise OSError(getattr(errno, error), os.strerror(getattr(errno, error)))

    opened = open

    def open_full(*args, **options):
        file = opened(*args, **options)
        return Full(file, full) if args[1] == "wb" else file

    class Full:
        def __init__(self, file, write):
            self.file, self.write = file, write

        def __enter__(self):
            return self

        def __exit__(self, *failure):
            self.file.close()

    monkeypatch.setattr(directories, "open", open_full, raising=False)
    process = Process()
    assert [process.stored(n) for n in (2, 3, 2)] == [2, 3, 2]
    assert process.compiled == ["planted 2", "planted 3"]
    assert len(writes) == 1  # it is not tried again and again
    assert process.stored(1) == 1  # still read
    assert len(process.compiled) == 2
    assert [path.suffix for path in folder.iterdir()] == [".kernel"]


def test_the_folder_is_bounded_and_the_least_used_go(tmp_path, monkeypatch):
    monkeypatch.setattr(directories, "PROCESSES_PER_COUNT", 1)
    folder = Directory(str(tmp_path / "kernels"))
    data = bytes(1000)
    now = time.time()
    for k in range(40):
        key = f"{k:064x}"
        folder.write(key, data, 20_000)
        os.utime(tmp_path / "kernels" / f"{key}.kernel", (now - 9000 + k, now - 9000 + k))
        if k >= 3:
            assert folder.read(f"{3:064x}") == data  # in use: it stays
    kept = folder.files()
    assert sum(file.size for file in kept) <= 20_000
    names = {int(file.key, 16) for file in kept}
    assert {3, 38, 39} <= names
    assert not {0, 1, 2, 4, 5} & names


def test_temporary_files_of_killed_processes_go(tmp_path, monkeypatch):
    monkeypatch.setattr(directories, "PROCESSES_PER_COUNT", 1)
    folder = tmp_path / "kernels"
    Directory(str(folder)).write(KEY, b"1", 100)
    old, new = folder / f"{1:016x}.new", folder / f"{2:016x}.new"
    for path in (old, new, folder / "notes.txt"):
        path.write_text("half")
    os.utime(old, (1, 1))
    os.utime(folder / "notes.txt", (1, 1))
    Directory(str(folder)).write(KEY, b"1", 100)
    assert {path.name for path in folder.iterdir()} == {
        f"{KEY}.kernel",
        new.name,
        "notes.txt",
    }


def test_another_tag_finds_nothing(folder, monkeypatch):
    Process().stored(1)
    monkeypatch.setattr(config, "cache_tag", "mine")
    tagged = Process()
    assert tagged.stored(1) == 1
    assert tagged.compiled
    assert len(list(folder.iterdir())) == 2


def test_the_shared_folder_is_read_and_never_written(folder, tmp_path, monkeypatch):
    Process().stored(1)
    shared = tmp_path / "shared"
    folder.rename(shared)
    (path,) = shared.iterdir()
    monkeypatch.setattr(config, "cache_shared", str(shared))
    process = Process()
    assert process.stored(1) == 1
    assert not process.compiled
    path.write_bytes(b"damaged")
    again = Process()
    assert [again.stored(n) for n in (1, 2)] == [1, 2]
    assert again.compiled == ["planted 1", "planted 2"]
    assert path.read_bytes() == b"damaged"
    assert len(list(shared.iterdir())) == 1
    assert len(list(folder.iterdir())) == 2


@pytest.mark.parametrize("bound", ["-1", "many", "1.5"])
def test_a_bound_that_is_none_is_refused(bound):
    with pytest.raises(GraphValueError) as error:
        config.cache_mb = bound
    assert str(error.value).splitlines() == [
        f"config.cache_mb = {bound!r}",
        "  seen: no such bound",
        "  instead: a whole number of megabytes, 0 to keep kernels in memory only",
    ]


@pytest.mark.parametrize("setting", ["cache_dir", "cache_mb"])
def test_the_disk_can_be_left_alone(folder, setting, monkeypatch):
    monkeypatch.setattr(config, setting, "" if setting == "cache_dir" else 0)
    for _ in range(2):
        process = Process()
        assert process.stored(1) == 1
        assert process.compiled
    assert not folder.exists()


def test_a_user_without_a_home_keeps_kernels_in_memory(monkeypatch):
    monkeypatch.setattr(config, "cache_dir", None)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert own_path() is None


def test_kernels_lie_in_the_users_folder_for_caches(monkeypatch):
    monkeypatch.setattr(config, "cache_dir", None)
    monkeypatch.setenv("XDG_CACHE_HOME", "/var/caches")
    assert own_path() == "/var/caches/axiomjit/kernels"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert own_path() == os.path.expanduser("~/.cache/axiomjit/kernels")
    monkeypatch.setattr(config, "cache_dir", "kept")
    assert own_path() == os.path.abspath("kept")


def test_a_folder_that_was_deleted_meanwhile_is_made_again(folder):
    process = Process()
    process.stored(1)
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    assert process.stored(2) == 2
    assert len(list(folder.iterdir())) == 1


def test_a_shortage_of_memory_is_no_damage(folder, monkeypatch):
    """A file that cannot be loaded now stays, and is loaded later."""
    (path,) = files_by_number(folder, Process(), [3]).values()

    def none_left(*given):
        raise OSError(errno.ENOMEM, "no memory")

    with monkeypatch.context() as context:
        context.setattr(entries, "link", none_left)
        context.setattr(entries, "_load_by_llvm", lambda entry: None)
        with pytest.raises(CompileError, match="no memory that can be executed"):
            Process().stored(3)
    assert path.exists()
    later = Process()
    assert later.stored(3) == 3
    assert not later.compiled


@pytest.mark.parametrize("what", ["PASSES", "MACHINE"])
def test_what_llvm_does_with_own_code_is_in_its_key(what, monkeypatch):
    before = directories._key("text")
    changed = {"PASSES": ("sroa",), "MACHINE": {**directories.MACHINE, "opt": 1}}
    monkeypatch.setattr(directories, what, changed[what])
    assert before != directories._key("text") != ""
