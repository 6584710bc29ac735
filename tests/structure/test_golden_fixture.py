"""The golden fixture can fail: missing, differing, shared and orphaned files."""

import pytest

from tests.structure.sources import ROOT

CONFTEST = (ROOT / "tests" / "conftest.py").read_text(encoding="utf-8")
READS = "def test_reads(golden):\n    golden('a\\nb')\n"
FILE = "golden/test_inner/test_reads.txt"


@pytest.fixture
def project(pytester):
    """A project with our conftest, one test that reads one golden file, and that file."""
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\naddopts = -p no:hypothesispytest\n")  # takes long to import
    pytester.makepyfile(test_inner=READS)
    write(pytester.path / FILE, "a\nb\n")
    return pytester


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_equal_text_passes(project):
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.no_fnmatch_line("*orphan*")


def test_missing_file_fails_and_names_the_option(project):
    (project.path / FILE).unlink()
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{FILE} is missing; --update-golden writes it*"])
    assert not (project.path / FILE).exists()


def test_differing_text_fails(project):
    write(project.path / FILE, "a\nc\n")
    result = project.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"*{FILE} differs*"])


def test_update_writes_missing_and_differing_files(project):
    project.makepyfile(
        test_other="""
        import pytest

        class TestGroup:
            @pytest.mark.parametrize("shape", ["2x3", "a/b"])
            def test_named(self, golden, shape):
                golden(shape, "after")
        """
    )
    write(project.path / FILE, "old\n")
    project.runpytest("--update-golden").assert_outcomes(passed=3)
    written = {
        str(p.relative_to(project.path / "golden")): p.read_text()
        for p in (project.path / "golden").rglob("*.txt")
    }
    assert written == {
        "test_inner/test_reads.txt": "a\nb\n",
        "test_other/TestGroup.test_named_2x3.after.txt": "2x3\n",
        "test_other/TestGroup.test_named_a_b.after.txt": "a/b\n",
    }
    assert project.runpytest().ret == pytest.ExitCode.OK


def test_orphan_fails_the_whole_session(project):
    write(project.path / "golden/test_gone/test_old.txt", "left\n")
    result = project.runpytest()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["orphaned golden file: *golden/test_gone/test_old.txt"])


@pytest.mark.parametrize(
    "selection", [["-k", "reads"], ["test_inner.py"], ["--deselect", "test_inner.py::test_no"]]
)
def test_part_of_a_session_judges_no_orphans(project, selection):
    write(project.path / "golden/test_gone/test_old.txt", "left\n")
    assert project.runpytest(*selection).ret == pytest.ExitCode.OK


def test_folder_of_all_tests_is_the_whole_session(project):
    write(project.path / "golden/test_gone/test_old.txt", "left\n")
    assert project.runpytest(".").ret == pytest.ExitCode.TESTS_FAILED


def test_file_of_a_skipped_test_is_no_orphan(project):
    project.makepyfile(
        test_skips="""
        import pytest

        @pytest.mark.skip(reason="planted")
        def test_later(golden):
            golden("x", "one")
        """
    )
    write(project.path / "golden/test_skips/test_later.one.txt", "x\n")
    assert project.runpytest().ret == pytest.ExitCode.OK
    write(project.path / "golden/test_skips/test_later_still.txt", "x\n")
    assert project.runpytest().ret == pytest.ExitCode.TESTS_FAILED


def test_two_tests_may_not_share_a_file(project):
    project.makepyfile(
        test_inner=READS
        + """
import pytest

@pytest.mark.parametrize("shape", ["a/b", "a_b"])
def test_shared(golden, shape):
    golden("x")
"""
    )
    result = project.runpytest("--update-golden")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*share *golden/test_inner/test_shared_a_b.txt; rename one*"])


@pytest.fixture
def spread(project, monkeypatch):
    """Runs the tests of the project in two processes."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # others take long to import
    return lambda *words: project.runpytest_subprocess("-p", "xdist", "-n", "2", *words)


def test_spread_over_processes_files_of_read_and_skipped_tests_are_no_orphans(project, spread):
    skipped = "import pytest\n\n@pytest.mark.skip\ndef test_later(golden):\n    golden('x')\n"
    project.makepyfile(test_other=READS, test_skips=skipped)
    write(project.path / "golden/test_other/test_reads.txt", "a\nb\n")
    write(project.path / "golden/test_skips/test_later.txt", "x\n")
    result = spread()
    result.assert_outcomes(passed=2, skipped=1)
    assert result.ret == pytest.ExitCode.OK


def test_spread_over_processes_orphans_and_shared_files_fail_the_session(project, spread):
    project.makepyfile(
        test_shares="""
        import pytest

        @pytest.mark.parametrize("shape", ["a/b", "a_b"])
        def test_shared(golden, shape):
            golden("x")
        """
    )
    write(project.path / "golden/test_shares/test_shared_a_b.txt", "x\n")
    write(project.path / "golden/test_gone/test_old.txt", "left\n")
    result = spread()
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["orphaned golden file: *golden/test_gone/test_old.txt"])
    result.stdout.fnmatch_lines(["*share *golden/test_shares/test_shared_a_b.txt; rename one*"])
    assert spread("-k", "reads").ret == pytest.ExitCode.OK


def test_spread_over_processes_what_measures_time_runs_alone(project, spread):
    (project.path / FILE).unlink()
    project.makepyfile(
        test_inner="""
        import time
        from pathlib import Path

        import pytest

        FOLDER = Path(__file__).parent

        def others(k):
            return [p for p in FOLDER.glob("at-*") if p.name != f"at-{k}"]

        @pytest.mark.parametrize(
            "k", [pytest.param(k, marks=[pytest.mark.alone] * (k % 3 == 0)) for k in range(18)]
        )
        def test_turn(k):
            own = FOLDER / f"at-{k}"
            own.touch()
            time.sleep(0.05)
            seen = others(k)
            own.unlink()
            if seen:
                (FOLDER / f"met-{k}").touch()
            assert not (k % 3 == 0 and seen)
            assert not [p for p in seen if int(p.name[3:]) % 3 == 0]
        """
    )
    result = spread()
    result.assert_outcomes(passed=18)
    assert list(project.path.glob("met-*"))  # the others did run beside each other
