"""`axiomjit opt`: passes over loops, run on text."""

import io

import numpy as np
import pytest

import axiomjit
from axiomjit.cli.main import main
from axiomjit.passes.pipeline import LOOP_PASSES


@axiomjit.jit
def centred(x):
    return x - x.mean(axis=1, keepdims=True)


@pytest.fixture(scope="module")
def lowered():
    return centred.lower(np.ones((30, 4000)))


@pytest.fixture
def file(lowered, tmp_path):
    path = tmp_path / "loops.txt"
    path.write_text(lowered.loops_before("fuse_loops"))
    return path


def opt(capsys, *arguments):
    """What the command prints."""
    assert main(["opt", *map(str, arguments)]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def test_passes_give_what_the_pipeline_gives(lowered, file, capsys):
    assert opt(capsys, file, "--passes", ",".join(LOOP_PASSES), "--short") == lowered.loops
    assert opt(capsys, file, "--short") == lowered.before("fuse_loops")
    until = "fuse_loops, order_loops"
    assert opt(capsys, file, "--passes", until) == lowered.loops_before("flip_loops")


def test_text_is_read_from_the_input(lowered, monkeypatch, capsys):
    text = lowered.loops_before("block_folds")
    monkeypatch.setattr("sys.stdin", io.StringIO(text))
    assert opt(capsys, "-", "--passes", "block_folds,center_blocks,search_blocks") == (
        lowered.loops_before("interleave_folds")
    )


def test_text_without_passes_is_printed_again(file, capsys):
    assert opt(capsys, file) == file.read_text()


def refused(capsys, *arguments, code=2):
    assert main(["opt", *map(str, arguments)]) == code
    out, err = capsys.readouterr()
    assert out == ""
    return err


def test_refusals(file, tmp_path, capsys):
    wrong = refused(capsys, file, "--passes", "fuse_loops,make_plan")
    assert "'make_plan' is no pass over loops: fuse_loops, order_loops" in wrong
    missing = tmp_path / "none.txt"
    assert refused(capsys, missing) == (
        f"axiomjit opt: read loops from {missing}; seen: No such file or directory; "
        "instead: name a text file\n"
    )
    file.write_text(file.read_text().replace("n0 = Symbol(n0)", "n0 = Symbol(n0, size)"))
    assert refused(capsys, file).startswith(
        f"axiomjit opt: {file}, line 1, column 17: the text of a loop program; seen: size; "
        "instead: write one of "
    )


def test_illegal_loops_are_found(file, capsys):
    text = file.read_text()
    assert "Load(v0, a0, " in text
    file.write_text(text.replace("Load(v0, a0, ", "Load(v9, a0, ", 1))
    assert "v0" in refused(capsys, file, code=1)


def test_only_loops_have_a_full_text(lowered):
    with pytest.raises(axiomjit.errors.GraphValueError, match="a pass over another form"):
        lowered.loops_before("compose_views")
