"""`axiomjit cache ls | verify | clear`, and what `axiomjit info` says of the kernels on disk."""

import os
import re
import time

import pytest

from axiomjit.base.config import config
from axiomjit.cli.main import cache_summary, main
from tests.runtime.object_cache.object_runs import Process, files_by_number


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of three kernels, used one, two and three hours ago."""
    path = tmp_path / "kernels"
    monkeypatch.setattr(config, "cache_dir", str(path))
    monkeypatch.setattr(config, "cache_shared", "")
    for number, file in files_by_number(path, Process(), (1, 2, 3)).items():
        used = time.time() - 3600 * number
        os.utime(file, (used, used))
    return path


def printed(capsys, *words):
    """What `axiomjit cache ...` prints, after its exit code."""
    code = main(["cache", *words])
    done = capsys.readouterr()
    return code, done.out.splitlines(), done.err.splitlines()


def test_ls_names_the_last_used_first(folder, capsys):
    code, lines, _ = printed(capsys, "ls")
    assert code == 0
    total = sum(path.stat().st_size for path in folder.glob("*.kernel"))
    assert lines[0] == f"{folder}: 3 kernels of {total:,} bytes"
    row = r"  [0-9a-f]{12}  +[\d,]+ bytes  +(\d\.\d) hours ago  +1\.0 ms to compile"
    assert [re.fullmatch(row, line)[1] for line in lines[1:]] == ["1.0", "2.0", "3.0"]


def test_ls_and_verify_say_what_is_damaged(folder, capsys):
    total = sum(path.stat().st_size for path in folder.glob("*.kernel"))
    whole = [f"{folder}: 3 kernels of {total:,} bytes looked through", "0 damaged"]
    assert printed(capsys, "verify")[:2] == (0, whole)
    path = sorted(folder.glob("*.kernel"))[0]
    path.write_bytes(path.read_bytes()[:-1])
    code, lines, _ = printed(capsys, "verify")
    assert code == 1
    assert lines[0] == f"damaged: {folder / path.stem}"
    assert lines[-1] == "1 damaged; they are compiled again when they are needed"
    assert sum(line.endswith("damaged") for line in printed(capsys, "ls")[1]) == 1


def test_clear_drops_kernels_and_nothing_else(folder, capsys):
    total = sum(path.stat().st_size for path in folder.glob("*.kernel"))
    (folder / "notes.txt").write_text("mine")
    code, lines, _ = printed(capsys, "clear")
    assert (code, lines) == (0, [f"{folder}: 3 kernels of {total:,} bytes dropped"])
    assert [path.name for path in folder.iterdir()] == ["notes.txt"]


def test_clear_leaves_the_shared_folder(folder, capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(config, "cache_shared", str(folder))
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "own"))
    assert printed(capsys, "clear")[1] == [f"{tmp_path / 'own'}: 0 kernels of 0 bytes dropped"]
    assert len(list(folder.glob("*.kernel"))) == 3


@pytest.mark.parametrize("verb", ["ls", "verify", "clear"])
def test_a_folder_of_others_is_refused_on_one_line(folder, capsys, verb):
    folder.chmod(0o777)
    code, lines, errors = printed(capsys, verb)
    assert (code, lines) == (2, [])
    assert errors == [
        f"axiomjit cache: the kernels in {folder}; seen: {folder} belongs to another user, or "
        "others can write it; instead: a folder of your own that only you can write (chmod 700)"
    ]


def test_without_a_folder_there_is_nothing_to_list(folder, capsys, monkeypatch):
    monkeypatch.setattr(config, "cache_mb", 0)
    code, _, errors = printed(capsys, "ls")
    assert code == 2
    assert errors == [
        "axiomjit cache: the kernels kept on disk; seen: none are kept; instead: name a folder in "
        "AXIOMJIT_CACHE_DIR, and leave AXIOMJIT_CACHE_MB above 0"
    ]


def test_info_shows_each_folder(folder, tmp_path, monkeypatch):
    total = sum(path.stat().st_size for path in folder.glob("*.kernel"))
    assert cache_summary() == f"{folder}, 3 kernels of {total:,} bytes, of at most 256 MB"
    monkeypatch.setattr(config, "cache_shared", str(folder))
    monkeypatch.setattr(config, "cache_dir", str(tmp_path / "own"))
    own, shared = (line.strip() for line in cache_summary().splitlines())
    assert own == f"{tmp_path / 'own'}, 0 kernels of 0 bytes, of at most 256 MB"
    assert shared == f"{folder}, 3 kernels of {total:,} bytes, shared, only read"
    folder.chmod(0o777)
    assert "not used: " in cache_summary()
    monkeypatch.setattr(config, "cache_mb", 0)
    assert cache_summary().startswith("memory only (")
