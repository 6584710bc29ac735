"""A clone without symbolic links says so."""

import subprocess
import sys

import pytest

from axiomjit._links import check_links
from tests.structure.sources import ROOT, clone_only


@pytest.mark.parametrize("name", ["passes", "runtime", "bench"])
def test_text_file_in_place_of_a_link_is_named(tmp_path, name):
    (tmp_path / name).write_text(f"../{name}")
    with pytest.raises(ImportError) as caught:
        check_links(tmp_path)
    asked, seen, instead = str(caught.value).splitlines()
    assert asked.startswith(f"import axiomjit.{name}")
    assert seen == (
        f"  seen: {tmp_path / name} is a regular file; this clone was made without symbolic links"
    )
    assert instead.startswith("  instead: ")
    assert "core.symlinks true" in instead


def test_real_folders_and_links_pass(tmp_path):
    (tmp_path / "passes").mkdir()
    (tmp_path / "runtime").symlink_to("passes")
    check_links(tmp_path)
    check_links(ROOT / "axiomjit")


@clone_only
def test_links_of_this_tree_lead_to_the_folders():
    for name in ("passes", "runtime", "bench"):
        assert (ROOT / "axiomjit" / name).readlink().as_posix() == f"../{name}"


@clone_only
@pytest.mark.parametrize("name", ["passes", "runtime", "bench", "passes.pipeline"])
def test_a_second_copy_of_a_folder_is_refused(name):
    command = [sys.executable, "-c", f"import {name}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    folder = name.partition(".")[0]
    assert done.returncode == 1
    assert f"ImportError: import {folder}\n  seen: " in done.stderr
    assert f"  instead: import axiomjit.{folder}" in done.stderr


@clone_only
def test_the_benchmark_is_a_module_of_the_package():
    command = [sys.executable, "-m", "axiomjit.bench", "list"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("map ")
