"""Result files: what is written is read, and every broken file is refused with its place."""

import json
import re

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.records import from_text, read_result, to_text, write_result
from tests.bench.samples import FILE, result


def test_written_and_read_is_the_same(tmp_path):
    path = tmp_path / "a.json"
    write_result(result(), path)
    assert read_result(path) == result()


def test_the_kept_sample_is_this_result():
    assert FILE.read_text() == to_text(result()), "write it again: python -m tests.bench.samples"


def test_fields_with_defaults_may_be_absent():
    body = json.loads(to_text(result()))
    for case in body["cases"]:
        for run in case["runs"]:
            for timing in run["timings"]:
                del timing["samples_s"]
    read = from_text(json.dumps(body), "a.json")
    assert {t.samples_s for c in read.cases for r in c.runs for t in r.timings} == {()}


def test_lookup():
    axpy = result().case("axpy")
    assert axpy.run("jax").at(2).ratio == 0.5
    assert axpy.run("torch") is None
    assert axpy.run("jax").at(64) is None
    assert result().case("none") is None


def edit(*path, value):
    """The sample with one value replaced; deleted where the value is `del`."""
    body = json.loads(to_text(result()))
    *outer, last = path
    at = body
    for key in outer:
        at = at[key]
    if value == "del":
        del at[last]
    else:
        at[last] = value
    return json.dumps(body)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("[]", "no 'axiomjit-bench' object"),
        (edit("version", value=99), "version 99 of the format, this reads 1"),
        (edit("seed", value="del"), "the file lacks seed"),
        (edit("extra", value=1), "the file has no field extra"),
        (edit("cases", 0, "size", value=1.5), "cases[0].size is 1.5, no int"),
        (edit("cases", 0, "size", value=-1), "cases[0].size is -1, below 0"),
        (edit("cases", 0, "size", value=True), "cases[0].size is True, no int"),
        (edit("cases", 0, "cost", value=[]), "cases[0].cost is [], not an object"),
        (edit("cases", value={}), "cases is {}, not a list"),
        (edit("wall_s", value=float("nan")), "wall_s is nan"),
    ],
)
def test_broken_files_are_refused(text, message):
    with pytest.raises(BenchError, match=re.escape(message)) as caught:
        from_text(text, "a.json")
    assert caught.value.asked == "read the results in a.json"
    assert caught.value.remedy


def test_files_that_cannot_be_used_are_refused(tmp_path):
    with pytest.raises(BenchError, match="No such file"):
        read_result(tmp_path / "none.json")
    with pytest.raises(BenchError, match="Is a directory"):
        write_result(result(), tmp_path)
