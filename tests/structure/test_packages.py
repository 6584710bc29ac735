"""A wheel, and a wheel built from the source distribution, installed outside a checkout, work."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.structure.sources import ROOT, clone_only

UNBUILT = shutil.ignore_patterns(
    ".*", "__pycache__", "*.egg-info", "build", "dist", "*.pyc", "htmlcov"
)
BUILD = "import sys; from setuptools import build_meta; print(build_meta.build_{}(sys.argv[1]))"
SAFELY = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11.0 to 3.11.3
FUNCTION = """\
import numpy as np, axiomjit
@axiomjit.jit
def f(x):
    return (x * 2 + 1).sum()
assert f(np.arange(5.0)) == 25
assert axiomjit.stats()["fallbacks"] == 0
print(axiomjit.__file__)
"""
pytestmark = clone_only


def build(kind, tree, out):
    """Path of the package of one kind that setuptools builds from a tree, without a network."""
    out.mkdir()
    done = call([sys.executable, "-W", "ignore", "-c", BUILD.format(kind), out], tree)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / done.stdout.splitlines()[-1]


def call(words, folder):
    """What a command prints; nothing of this process's checkout is on its path."""
    left_out = ("PYTHONPATH", "AXIOMJIT_CHECK")
    environment = {k: v for k, v in os.environ.items() if k not in left_out}
    words = [str(word) for word in words]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)


def files(archive):
    """The files of a package, a source distribution's below its one folder."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            return {name for name in wheel.namelist() if not name.endswith("/")}
    with tarfile.open(archive) as source:
        members = source.getmembers()
    assert [m.name for m in members if not (m.isfile() or m.isdir())] == []
    return {m.name.partition("/")[2] for m in members if m.isfile()}


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A source distribution, the wheel built from it, and the wheel built from the tree."""
    if find_spec("setuptools") is None:
        pytest.skip("setuptools is not installed")
    folder = tmp_path_factory.mktemp("built")
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, symlinks=True, ignore=UNBUILT)
    source = build("sdist", tree, folder / "source")
    with tarfile.open(source) as archive:
        archive.extractall(folder, **SAFELY)
    unpacked = folder / source.name.removesuffix(".tar.gz")
    return {
        "source": source,
        "wheel": build("wheel", tree, folder / "wheel"),
        "wheel of the source": build("wheel", unpacked, folder / "again"),
    }


@pytest.fixture(scope="module")
def installed(built, tmp_path_factory):
    """Python, the command and the packages' folder of an environment with the wheel in it.

    Its other packages are those of this process.
    """
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    scripts = folder / ("Scripts" if os.name == "nt" else "bin")
    python = scripts / "python"
    said = call([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder)
    packages = Path(said.stdout.strip())
    paths = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
    (packages / "beside.pth").write_text("\n".join(paths) + "\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index"]
    done = call([*pip, built["wheel of the source"]], folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return python, scripts / "axiomjit", packages


def test_both_wheels_have_the_same_files(built):
    trees = {path.removeprefix("axiomjit/") for path in files(built["wheel"]) if "/" in path}
    for folder in ("passes", "runtime", "bench"):
        own = {path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")}
        assert own <= trees
    assert {"bench/report/page.css", "bench/report/page.js", "py.typed"} <= trees
    assert not [path for path in trees if path.startswith(("tests/", "bench/results/"))]
    assert files(built["wheel"]) == files(built["wheel of the source"])


def test_the_source_has_tests_docs_and_changes(built):
    found = files(built["source"])
    kept = [path for folder in ("tests", "docs") for path in (ROOT / folder).rglob("*")]
    names = {path.relative_to(ROOT).as_posix() for path in kept if path.is_file()}
    names = {name for name in names if "__pycache__" not in name}
    results = (path.name for path in (ROOT / "bench" / "results").glob("*.json"))
    names |= {f"axiomjit/bench/results/{name}" for name in results}
    assert names | {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml"} <= found
    assert not [name for name in found if name.endswith((".pyc", "~"))]


def test_metadata_is_that_of_the_project(built):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    with zipfile.ZipFile(built["wheel"]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
        head, _, description = wheel.read(name).decode().partition("\n\n")
    lines = head.splitlines()
    assert {f"Name: {project['name']}", f"Version: {project['version']}"} <= set(lines)
    assert "License-Expression: Apache-2.0" in lines
    extras = {line.partition(": ")[2] for line in lines if line.startswith("Provides-Extra")}
    assert extras == set(project["optional-dependencies"])
    assert description.strip() == (ROOT / "README.md").read_text(encoding="utf-8").strip()


def test_installed_it_compiles_and_tells_about_itself(installed, tmp_path):
    python, command, packages = installed
    done = call([python, "-c", FUNCTION], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path(done.stdout.strip()).parent == packages / "axiomjit"
    done = call([command, "info"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    told = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (told["axiomjit"], told["runs"]) == (project["version"], "compiled")
    done = call([command, "demo", "--rows", "1000"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_installed_its_benchmarks_run(installed, tmp_path):
    _, command, _ = installed
    done = call([command, "bench", "list"], tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split()[:2] == ["map", "axpy"]
    words = ["run", "--quick", "--case", "affine_10", "--peers", "numba", "--json", "out.json"]
    done = call([command, "bench", *words], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "affine_10" in done.stdout
    done = call([command, "bench", "report", "out.json"], tmp_path)
    assert (done.returncode, done.stdout) == (0, "wrote out.html\n")
    done = call([command, "bench", "compare", "out.json", "out.json", "--no-rerun"], tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["run", "--quick", "--case", "affine_10", "--record"], "keep results"),
    ],
)
def test_installed_nothing_is_written_beside_the_packages(installed, tmp_path, words, asked):
    _, command, packages = installed
    before = sorted(packages.rglob("*"))
    done = call([command, "bench", *words], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    seen = f"axiomjit is installed in {packages}; only a clone keeps results"
    remedy = "name a file (`run --json FILE`, `report FILE`), or use a clone"
    line = f"axiomjit bench {words[0]}: {asked}; seen: {seen}; instead: {remedy}\n"
    assert done.stderr == line
    assert [path for path in sorted(packages.rglob("*")) if path not in before] == []
