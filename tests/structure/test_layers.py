"""Imports point one way: graph layer <- {doors, passes} <- runtime <- driver; no cycles at all."""

import ast
import graphlib
import subprocess
import sys

import pytest

from tests.structure.sources import FOLDERS, ROOT, read_sources

GRAPH = {
    *(
        "_links",
        "records",
        "config",
        "errors",
        "counters",
        *("dims", "number_kinds"),
        "dtypes",
        "primitives",
        "library_rows",
        "operation_times",
        "recipe_times",
        "target",
    ),
    *("index_maps", "graph", "seen", "print_graph", "verify_graph", "evaluate_graph", "origins"),
    *("execution", "axis", "axis_names", "axis_tags", "axes", "promotion", "builder", "tree"),
    "containers",
    *("dense_layout", "view_descriptions", "complex_views", "descriptions"),
    *("stored_reads", "storages", "effects"),
    *("ranges", "quotients"),
    *("captured", "error_states"),
}
DRIVER = {
    *(
        "jit",
        "lowered",
        "live",
        "explain",
        "driver",
        "demo",
        "datafile",
        "measure",
        "cli",
        "__main__",
    ),
    "commands",
}

# What each layer may import: layers, and modules by name. The driver may import everything.
MAY_IMPORT = {
    "graph": {"graph"},
    "doors": {"graph", "doors"},
    "passes": {"graph", "passes"},
    "runtime": {
        *("runtime", "axiomjit.records", "axiomjit.config", "axiomjit.errors"),
        *("axiomjit.counters", "axiomjit.dims", "axiomjit.target"),
        *("axiomjit.passes.kernel_ir", "axiomjit.passes.plan_ir"),
    },
    "bench": {
        *("bench", "axiomjit", "axiomjit.records", "axiomjit.errors", "axiomjit.tree"),
        *("axiomjit.commands", "axiomjit.runtime.schedule", "axiomjit.runtime.compile_source"),
        "axiomjit.operation_times",
        "axiomjit.passes.kernel_ir",
        "axiomjit.runtime.vector_math.arithmetic",
        "axiomjit.runtime.vector_math.complement",
        "axiomjit.runtime.vector_math.exact",
        "axiomjit.runtime.vector_math.functions",
        "axiomjit.runtime.vector_math.pieces",
    },
}
BARRED = {("passes", f"axiomjit.{door}") for door in ("builder", "axes", "descriptions")}


def layer(module: str) -> str:
    """The layer that a module of the project belongs to."""
    first, *rest = module.split(".")[1:] or ["__main__"]
    if first in ("passes", "runtime", "bench"):
        return first
    if not rest and first in GRAPH:
        return "graph"
    return "driver" if not rest and first in DRIVER else "doors"


def imports(source: str, modules: set[str]) -> set[tuple[str, str]]:
    """Pairs (module named in the statement, module it reaches), late imports included."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, alias.name) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = "." * node.level + (node.module or "")
            for alias in node.names:
                leaf = f"{base}.{alias.name}"
                found.add((base, leaf if leaf in modules else base))
    return found


def complaint(module: str, named: str, target: str) -> str | None:
    """Why `module` may not import `target` in a statement that names `named`, if so."""
    own, first = layer(module), named.split(".")[0]
    if first == "":
        return f"{module}: relative import of {named}; write it in full"
    if first in ("passes", "runtime", "bench"):
        return f"{module}: imports {named}; write axiomjit.{named}"
    if first != "axiomjit" or own == "driver":
        return None
    if own in ("passes", "runtime") and named == "axiomjit":
        return f"{module}: imports from axiomjit itself; import the leaf module"
    if own == "bench" and named == "axiomjit":
        return None
    known = {layer(target), target} & MAY_IMPORT[own]
    if not known or (own, target) in BARRED:
        return f"{module} ({own}) may not import {target} ({layer(target)})"
    return None


def violations(tree: dict[str, str]) -> list[str]:
    """What is wrong with the imports of a tree: module name -> source."""
    found, edges = [], {}
    for module, source in sorted(tree.items()):
        pairs = sorted(imports(source, set(tree)))
        found += filter(None, (complaint(module, named, target) for named, target in pairs))
        edges[module] = {target for _, target in pairs if target in tree}
    try:
        graphlib.TopologicalSorter(edges).prepare()
    except graphlib.CycleError as error:
        found.append("import cycle: " + " -> ".join(reversed(error.args[1])))
    return found


def test_the_tree_follows_the_layers():
    tree = {}
    for path, source in read_sources(*FOLDERS).items():
        module = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        tree[module if module.startswith("axiomjit") else f"axiomjit.{module}"] = source
    assert violations(tree) == []


RIGHT = {
    "axiomjit": "from axiomjit.jit import jit",
    "axiomjit.jit": "from axiomjit.passes import pipeline\nimport numpy, axiomjit.runtime.run",
    "axiomjit.cli": "import axiomjit\nimport axiomjit.bench.cases",
    "axiomjit.errors": "",
    "axiomjit.graph": "from axiomjit.errors import AxiomError",
    "axiomjit.builder": "from axiomjit import graph",
    "axiomjit.axes": "",
    "axiomjit.trace": "from axiomjit.builder import Builder",
    "axiomjit.numpy.graph": "from axiomjit.trace import trace",
    "axiomjit.passes.kernel_ir": "",
    "axiomjit.passes.pipeline": "import axiomjit.graph\nfrom axiomjit.passes import kernel_ir",
    "axiomjit.runtime.run": "from axiomjit.passes.kernel_ir import K\nimport axiomjit.errors",
    "axiomjit.bench.cases": "import axiomjit\nfrom axiomjit import jit, numpy",
}


def test_a_right_tree_is_left_alone():
    assert violations(RIGHT) == []


WRONG = [
    ("axiomjit.graph", "from axiomjit.trace import trace", "(graph) may not import axiomjit.trace"),
    ("axiomjit.graph", "import axiomjit.passes.kernel_ir", "may not import axiomjit.passes.ker"),
    ("axiomjit.trace", "import axiomjit.passes.kernel_ir", "(doors) may not import axiomjit.pa"),
    ("axiomjit.trace", "import axiomjit.runtime.run", "(doors) may not import axiomjit.runtime"),
    ("axiomjit.trace", "def f():\n    import axiomjit.jit", "(doors) may not import axiomjit.jit"),
    ("axiomjit.trace", "import axiomjit as aj", "(doors) may not import axiomjit (driver)"),
    ("axiomjit.trace", "from axiomjit import jit", "(doors) may not import axiomjit.jit"),
    ("axiomjit.trace", "if TYPE_CHECKING:\n    import axiomjit.jit", "may not import axiomjit.jit"),
    ("axiomjit.numpy.graph", "import axiomjit.runtime.run", "(doors) may not import"),
    ("axiomjit.axes", "import axiomjit.numpy.graph", "(graph) may not import axiomjit.numpy.graph"),
    ("axiomjit.passes.pipeline", "import axiomjit.runtime.run", "(passes) may not import"),
    ("axiomjit.passes.pipeline", "import axiomjit.trace", "(passes) may not import axiomjit.trace"),
    ("axiomjit.passes.pipeline", "import axiomjit.axes", "(passes) may not import axiomjit.axes"),
    ("axiomjit.passes.pipeline", "import axiomjit.builder", "may not import axiomjit.builder"),
    ("axiomjit.passes.pipeline", "from axiomjit import graph", "import the leaf module"),
    ("axiomjit.passes.pipeline", "from . import kernel_ir", "relative import"),
    ("axiomjit.passes.pipeline", "from .kernel_ir import K", "relative import"),
    (
        "axiomjit.passes.pipeline",
        "from passes.kernel_ir import K",
        "write axiomjit.passes.kernel_ir",
    ),
    ("axiomjit.jit", "import runtime.run", "write axiomjit.runtime.run"),
    ("axiomjit.runtime.run", "import axiomjit.graph", "(runtime) may not import axiomjit.graph"),
    ("axiomjit.runtime.run", "import axiomjit.passes.pipeline", "(runtime) may not import"),
    ("axiomjit.runtime.run", "from axiomjit import errors", "import the leaf module"),
    ("axiomjit.bench.cases", "import axiomjit.graph", "(bench) may not import axiomjit.graph"),
    ("axiomjit.errors", "import axiomjit.graph", "import cycle: "),
    ("axiomjit.passes.kernel_ir", "import axiomjit.passes.pipeline", "import cycle: "),
    ("axiomjit.jit", "def f():\n    import axiomjit", "import cycle: "),
]


@pytest.mark.parametrize(("module", "source", "message"), WRONG)
def test_each_rule_fires(module, source, message):
    found = violations(RIGHT | {module: f"{RIGHT[module]}\n{source}"})
    assert [line for line in found if message in line]


def test_linked_folders_are_loaded_under_one_name_only():
    code = "import sys, axiomjit; print({'passes', 'runtime', 'bench'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("set()\n", "")
