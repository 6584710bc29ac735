"""Verifiers run after every pass and fresh memory is poisoned, in every test; kernels are compiled
as users run them or, under AXIOMJIT_CHECK=1, with bounds checks. All processes of a session, and
those that tests start, share the kernels that one of them has compiled. The `golden` fixture
compares texts kept under tests/golden.
"""

import gc
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning
from axiomjit.graph import execution
from tests.turns import Turns

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden"
FAST = ("structure", "passes")
"""Folders whose tests are marked `fast`; those of other folders are `slow`."""
SLOW_FILES = (
    "passes/test_compiled.py",
    "passes/test_growth.py",
    "passes/test_scans.py",
    "structure/test_golden_fixture.py",
    "structure/test_packages.py",
)
"""Files in these folders that compile much or start many processes: they are `slow`, too."""
SELECTING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "collectonly")


class GoldenFiles:
    """Which golden files the tests of one session own."""

    def __init__(self, update: bool) -> None:
        self.update = update
        self.owners: dict[Path, str] = {}
        self.unread_stems: set[Path] = set()
        self.deselected = False
        self.shared: list[str] = []

    def compare(self, stem: Path, nodeid: str, text: str) -> None:
        """Compare `text` with the file at `stem` + ".txt", or write it there."""
        path = stem.with_name(f"{stem.name}.txt")
        shown = _shown(path)
        owner = self.owners.setdefault(path, nodeid)
        if owner != nodeid:
            pytest.fail(f"{owner} and {nodeid} share {shown}; rename one", pytrace=False)
        text = text.rstrip("\n") + "\n"
        if self.update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.is_file():
            pytest.fail(f"{shown} is missing; --update-golden writes it", pytrace=False)
        expected = path.read_text(encoding="utf-8")
        assert text == expected, f"{shown} differs; --update-golden rewrites it"

    def told(self) -> dict[str, Any]:
        """What a process of a spread session tells the one that started it."""
        return {
            "owners": {str(path): owner for path, owner in self.owners.items()},
            "unread_stems": [str(stem) for stem in self.unread_stems],
            "deselected": self.deselected,
        }

    def take(self, told: dict[str, Any]) -> None:
        """Add what another process tells; files that two tests share are kept for `shared`."""
        for name, owner in told["owners"].items():
            first = self.owners.setdefault(Path(name), owner)
            if first != owner:
                self.shared.append(f"{first} and {owner} share {_shown(Path(name))}; rename one")
        self.unread_stems |= {Path(stem) for stem in told["unread_stems"]}
        self.deselected |= told["deselected"]

    def faults(self) -> list[str]:
        """What is wrong with the files as a whole, once every test has run."""
        orphans = [f"orphaned golden file: {_shown(path)}" for path in self.orphans()]
        return sorted(set(self.shared)) + orphans

    def orphans(self) -> list[Path]:
        """Golden files that no test has read, those of skipped tests apart."""
        unread = set(GOLDEN.rglob("*.txt")) - set(self.owners)
        return sorted(path for path in unread if not self._skipped(path))

    def _skipped(self, path: Path) -> bool:
        name = path.name
        return any(
            path.parent == stem.parent and name.startswith(f"{stem.name}.")
            for stem in self.unread_stems
        )


def _shown(path: Path) -> str:
    return path.relative_to(TESTS.parent).as_posix()


def golden_stem(nodeid: str, root: Path) -> Path:
    """Where the golden files of a test lie: tests/golden/<module path>/<test name>, no suffix."""
    file, _, test = nodeid.partition("::")
    module = (root / file).relative_to(TESTS).with_suffix("")
    return GOLDEN / module / re.sub(r"[^\w.=+-]", "_", test.replace("::", ".")).rstrip("_")


def whole_session(config: pytest.Config) -> bool:
    """Whether every test was asked for, in this process or in those that it started."""
    selected = any(config.getoption(option, None) for option in SELECTING)
    part = hasattr(config, "workerinput")
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if named:
        here = {(config.invocation_params.dir / arg).resolve() for arg in config.args}
        named = not here & {TESTS, *TESTS.parents}
    return not (selected or part or named)


FILES = pytest.StashKey[GoldenFiles]()
TURNS = pytest.StashKey[Turns]()
KERNEL_FOLDER = pytest.StashKey[tempfile.TemporaryDirectory]()
CACHE_DIR = pytest.StashKey[str | None]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the files of `golden`")
    parser.addoption("--kernels", help="keep compiled kernels in this folder between sessions")


def share_kernels(stash: pytest.Stash, kept: str | None) -> None:
    """Keep the kernels of this session in one folder; workers find it in the variable."""
    if kept is None:
        folder = tempfile.TemporaryDirectory(prefix="axiomjit-kernels-", ignore_cleanup_errors=True)
        stash[KERNEL_FOLDER], kept = folder, folder.name
    stash[CACHE_DIR] = os.environ.get("AXIOMJIT_CACHE_DIR")
    config.cache_dir = os.environ["AXIOMJIT_CACHE_DIR"] = kept


def restore_cache_dir(before: str | None) -> None:
    """Name the folder of kernels as it was named before this session."""
    config.cache_dir = before
    os.environ.pop("AXIOMJIT_CACHE_DIR", None)
    if before is not None:
        os.environ["AXIOMJIT_CACHE_DIR"] = before


def pytest_unconfigure(config: pytest.Config) -> None:
    if CACHE_DIR in config.stash:  # a session may run inside another one
        restore_cache_dir(config.stash[CACHE_DIR])
    if folder := config.stash.get(KERNEL_FOLDER, None):
        folder.cleanup()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[FILES] = GoldenFiles(config.getoption("update_golden"))
    # The folder for temporary files of a process of a spread session lies in that of the session.
    worker = hasattr(config, "workerinput")
    if not worker:
        share_kernels(config.stash, config.getoption("kernels"))
    config.stash[TURNS] = Turns(Path(config.option.basetemp).parent if worker else None)
    config.addinivalue_line("markers", "alone: measures time; nothing else runs beside it")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.path.is_relative_to(TESTS):  # a session may run inside another one
        name = item.path.relative_to(TESTS).as_posix()
        fast = name.startswith(tuple(f"{folder}/" for folder in FAST)) and name not in SLOW_FILES
        item.add_marker("fast" if fast else "slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item):
    alone = item.get_closest_marker("alone") is not None
    with item.config.stash[TURNS].taken(alone):
        return (yield)


@pytest.fixture(autouse=True, scope="module")
def _collects_little():
    """Leave the objects of earlier modules out of collections, which would walk them all."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def verify_after_every_pass():
    config.check = True


def _settings() -> dict[str, object]:
    names = (*(name for name in config.__slots__ if name != "_generator"), "target")
    variables = {name: text for name, text in os.environ.items() if name.startswith("AXIOMJIT_")}
    return {name: getattr(config, name) for name in names} | variables


@pytest.fixture(autouse=True)
def settings_stay(verify_after_every_pass: None):
    """A test that leaves other settings behind fails: later tests of the process run under them."""
    before = _settings()
    yield
    after = _settings()
    changed = sorted({name for name, _ in before.items() ^ after.items()})
    assert not changed, f"left changed: {', '.join(changed)}"


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels as users run them: for what looks at machine code, at time or at memory."""
    monkeypatch.setattr(config, "bounds", False)
    monkeypatch.delenv("AXIOMJIT_CHECK", raising=False)


@pytest.fixture
def refusing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no row is refused: for what the rows themselves refuse."""
    monkeypatch.setattr(config, "fallback", "error")


@pytest.fixture
def memory_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are neither read from disk nor written there: for what counts compilations."""
    monkeypatch.setattr(config, "cache_mb", 0)
    monkeypatch.setenv("AXIOMJIT_CACHE_MB", "0")


@pytest.fixture
def evaluator():
    """Axis graphs are evaluated in NumPy: for what looks at meaning and not at kernels."""
    before = execution.install(run=None)
    yield
    execution.install(**before)


@pytest.fixture
def nothing_runs_in_numpy():
    """A function that NumPy runs in place of a program is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield


@pytest.fixture
def in_numpy(monkeypatch):
    """Programs are evaluated in NumPy: nothing is about kernels."""
    monkeypatch.setattr(config, "disable", True)


@pytest.fixture(params=[True, False], ids=["compiled", "evaluated"])
def compiled(request, monkeypatch):
    """Programs are compiled; in another run of the test they are evaluated."""
    monkeypatch.setattr(config, "disable", not request.param)


@pytest.fixture
def bounds_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that check each access."""
    monkeypatch.setattr(config, "bounds", True)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[..., None]:
    """`golden(text, name=None)` compares `text` with this test's golden file."""
    files, nodeid = request.config.stash[FILES], request.node.nodeid
    stem = golden_stem(nodeid, request.config.rootpath)

    def compare(text: str, name: str | None = None) -> None:
        files.compare(stem.with_name(f"{stem.name}.{name}") if name else stem, nodeid, text)

    return compare


def pytest_deselected(items: list[pytest.Item]) -> None:
    for item in items:
        item.config.stash[FILES].deselected = True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item):
    report = yield
    if report.skipped:
        stem = golden_stem(item.nodeid, item.config.rootpath)
        item.config.stash[FILES].unread_stems.add(stem)
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """A process of a spread session (pytest-xdist) has ended."""
    if told := getattr(node, "workeroutput", {}).get("golden"):
        node.config.stash[FILES].take(told)


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    files = session.config.stash[FILES]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["golden"] = files.told()
    if exitstatus != pytest.ExitCode.OK or files.deselected or not whole_session(session.config):
        return
    for fault in files.faults():
        place = ("tests/golden", None, "golden files")
        report = pytest.TestReport("golden files", place, {}, "failed", fault, "teardown")
        session.config.hook.pytest_runtest_logreport(report=report)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
