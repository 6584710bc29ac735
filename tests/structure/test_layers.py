"""Folders are layers: a package imports what its docstring names, all of it before it."""

import ast
import graphlib
import re
import subprocess
import sys

import pytest

from tests.structure.sources import FOLDERS, ROOT, parsed, read_sources

# A package may import those before it. Seats of packages to come are named, so that their place
# is settled. `numpy` is the drop-in: its segments are functions that `dispatch` compiles.
ORDER = (
    *("base", "symbolic", "views", "graph", "numpy_rules"),
    *("axis", "frontends", "frontends.neon", "tracing", "functions"),
    *("accumulators", "notation", "nn", "gradients", "scale"),
    *("passes.ir", "passes.graph", "passes.views", "passes.loops", "passes.plan"),
    "passes",
    *("runtime.object_cache", "runtime.memory", "runtime.elementary", "runtime.codegen"),
    *("runtime.native_call", "runtime.execution", "runtime"),
    *("debug", "dispatch", "interop", "numpy", "bench.suite", "bench.report", "bench.compiling"),
    *("bench", "cli"),
)
# `accumulators` is none: the record of an accumulator and its folds are for every door.
DOORS = {"axis", "tracing", "notation", "gradients", "numpy", "scale"}
# Modules of the root: what users import, and what starts the package.
ROOT_NAME = "axiomjit"
ROOT_MODULES = {ROOT_NAME, "__main__", "_links"}
CLAUSE = re.compile(r"May\s+import\s(.*)", re.DOTALL)


class Module:
    """One source file: its dotted name below axiomjit, its package, and its text."""

    def __init__(self, path: str, source: str) -> None:
        parts = path.removesuffix(".py").removeprefix("axiomjit/").split("/")
        self.package = ".".join(parts[:-1])
        self.name = ".".join(parts).removesuffix(".__init__").replace("__init__", ROOT_NAME)
        self.tree = parsed(source)


def modules_of(sources: dict[str, str]) -> dict[str, Module]:
    """The modules of a tree, by dotted name below axiomjit."""
    found = [Module(path, source) for path, source in sources.items()]
    return {module.name: module for module in found}


def imports(module: Module, names: set[str]) -> set[str]:
    """Dotted names of what a module imports of ours, late imports included."""
    found = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            leaves = {f"{base}.{alias.name}" for alias in node.names}
            known = {leaf for leaf in leaves if leaf.removeprefix("axiomjit.") in names}
            found |= known or {base}
    return {name for name in found if name.split(".")[0] in ("", "axiomjit", *FOLDERS)}


def allowed(module: Module) -> list[str] | None:
    """The packages that the docstring of a package names, None where it has no such sentence."""
    text = ast.get_docstring(module.tree) or ""
    clause = CLAUSE.search(text)
    return None if clause is None else re.findall(r"`([\w.]+)`", clause[1])


def package_faults(name: str, module: Module | None) -> list[str]:
    """What is wrong with a package itself."""
    if name not in ORDER:
        return [f"{name}: not in the order of packages"]
    named = None if module is None else allowed(module)
    if named is None:
        return [f"{name}: its docstring does not say what it may import: `May import ...`"]
    place = ORDER.index(name)
    found = [f"{name}: names {p}, which is no package" for p in named if p not in ORDER]
    later = [p for p in named if p in ORDER and ORDER.index(p) >= place]
    found += [f"{name}: names {p}, which comes after it" for p in later]
    if name in DOORS:
        found += [f"{name}: names {p}, another door" for p in named if p in DOORS]
    return found


def import_faults(module: Module, modules: dict[str, Module]) -> list[str]:
    """Imports of a module that its package does not allow."""
    found = []
    may = set(allowed(modules[module.package]) or ()) | {module.package}
    for target in sorted(imports(module, set(modules))):
        inner = target.removeprefix("axiomjit.")
        if not target.startswith("axiomjit"):
            found.append(f"{module.name}: imports {target}; write axiomjit. in front, in full")
        elif target == "axiomjit":
            if module.package.split(".")[0] not in ("bench", "cli"):
                found.append(f"{module.name}: imports from axiomjit itself; import the module")
        elif inner not in modules:
            found.append(f"{module.name}: imports {target}, which is no module")
        elif modules[inner].package not in may:
            found.append(f"{module.name}: may not import {inner}; see {module.package}/__init__.py")
    return found


def violations(sources: dict[str, str]) -> list[str]:
    """What is wrong with the packages and the imports of a tree: path -> source."""
    modules = modules_of(sources)
    packages = sorted({m.package for m in modules.values() if m.package})
    found = [line for name in packages for line in package_faults(name, modules.get(name))]
    if found:
        return found
    for module in modules.values():
        if module.package:
            found += import_faults(module, modules)
        elif module.name not in ROOT_MODULES and not is_shim(module):
            found.append(f"{module.name}: a module of the root that is more than its imports")
    targets = {name: imports(module, set(modules)) for name, module in modules.items()}
    edges = {name: {t.removeprefix("axiomjit.") for t in ts} for name, ts in targets.items()}
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        found.append("import cycle: " + " -> ".join(reversed(error.args[1])))
    return found


def is_shim(module: Module) -> bool:
    """Whether a module only gives public names of another one: docstring, imports, `__all__`."""
    kinds = (ast.ImportFrom, ast.Assign, ast.Expr)
    assigned = [n.targets[0].id for n in module.tree.body if isinstance(n, ast.Assign)]
    return assigned == ["__all__"] and all(isinstance(n, kinds) for n in module.tree.body)


def test_the_tree_follows_the_layers():
    assert violations(read_sources(*FOLDERS)) == []


def test_packages_are_in_the_distribution():
    import tomllib

    sources = read_sources(*FOLDERS)
    packages = {m.package for m in modules_of(sources).values() if m.package}
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = tomllib.loads(text)["tool"]["setuptools"]["packages"]
    assert sorted(listed) == ["axiomjit", *sorted(f"axiomjit.{name}" for name in packages)]


BASE = '"""Records. May import nothing."""'
RIGHT = {
    "axiomjit/__init__.py": "from axiomjit.dispatch.jit import jit",
    "axiomjit/transformers.py": '"""Shim."""\nfrom axiomjit.axis.axes import Axes\n__all__ = []',
    "axiomjit/base/__init__.py": BASE,
    "axiomjit/base/errors.py": "import os",
    "axiomjit/graph/__init__.py": '"""Nodes. May import `base`."""',
    "axiomjit/graph/nodes.py": "from axiomjit.base.errors import AxiomError",
    "axiomjit/axis/__init__.py": '"""Axes. May import `graph`\nand `base`."""',
    "axiomjit/axis/axes.py": "from axiomjit.graph import nodes",
    "axiomjit/tracing/__init__.py": '"""Traces. May import `graph`."""',
    "axiomjit/tracing/trace.py": "",
    "axiomjit/dispatch/__init__.py": '"""All. May import `base`, `graph`, `axis`, `passes`."""',
    "axiomjit/dispatch/jit.py": "def f():\n    import axiomjit.passes.pipeline",
    "passes/__init__.py": '"""Verbs. May import `graph`."""',
    "passes/pipeline.py": "import axiomjit.graph.nodes",
    "bench/__init__.py": '"""Cases. May import nothing."""',
    "bench/cases.py": "import axiomjit",
}


def test_a_right_tree_is_left_alone():
    assert violations(RIGHT) == []


WRONG = [
    ("axiomjit/graph/nodes.py", "import axiomjit.axis.axes", "graph.nodes: may not import axis"),
    ("axiomjit/axis/axes.py", "import axiomjit.tracing.trace", "may not import tracing"),
    ("axiomjit/axis/axes.py", "def f():\n    import axiomjit.passes.pipeline", "may not import"),
    ("axiomjit/axis/axes.py", "if TYPE_CHECKING:\n    import axiomjit.dispatch.jit", "may not"),
    ("axiomjit/axis/axes.py", "from axiomjit import jit", "imports from axiomjit itself"),
    ("axiomjit/axis/axes.py", "import axiomjit.axis.gone", "which is no module"),
    ("axiomjit/axis/__init__.py", '"""Axes. May import `tracing`."""', "which comes after it"),
    ("axiomjit/tracing/__init__.py", '"""T. May import `axis`."""', "names axis, another door"),
    ("axiomjit/base/__init__.py", '"""Records."""', "does not say what it may import"),
    ("axiomjit/base/__init__.py", '"""R. May import `graph`."""', "which comes after it"),
    ("axiomjit/base/__init__.py", '"""R. May import `nowhere`."""', "which is no package"),
    ("axiomjit/new/it.py", "", "new: not in the order of packages"),
    ("axiomjit/views/layout.py", "", "views: its docstring does not say"),
    ("axiomjit/loose.py", "x = 1", "loose: a module of the root"),
    ("passes/pipeline.py", "from . import order", "write axiomjit. in front"),
    ("passes/pipeline.py", "from passes.order import f", "write axiomjit. in front"),
    ("axiomjit/base/errors.py", "import axiomjit.base.records", "import cycle: "),
]


@pytest.mark.parametrize(("path", "source", "message"), WRONG)
def test_each_rule_fires(path, source, message):
    tree = RIGHT | {"axiomjit/base/records.py": "import axiomjit.base.errors"}
    assert violations(tree) == []
    assert [line for line in violations(tree | {path: source}) if message in line]


def test_linked_folders_are_loaded_under_one_name_only():
    code = "import sys, axiomjit; print({'passes', 'runtime', 'bench'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
