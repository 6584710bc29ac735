"""`config.target`: what each name means, what is refused, and what follows it."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest

from axiomjit.base import target as targets
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.base.target import CPUS, LEVELS, NAMES, UNUSED, find_target, target
from axiomjit.runtime.codegen.kernel_cache import KERNELS
from tests.generator import target_runs
from tests.passes.graphs import follow, target_with
from tests.passes.plan.test_render_source import kernels
from tests.structure.sources import ROOT

binding = pytest.importorskip("llvmlite.binding")
pytestmark = pytest.mark.skipif(
    targets.platform.machine() not in ("x86_64", "AMD64"), reason="levels of x86-64"
)
FACTS = {
    "x86-64": (16, False, False, False, False),
    "x86-64-v2": (16, False, False, False, False),
    "x86-64-v3": (32, False, True, False, True),
    "x86-64-v4": (64, True, True, False, True),
}
LEVELS_HERE = [name for name in target_runs.runnable() if name in LEVELS]


def facts(found):
    return (
        *(found.vector_bytes, found.divides_long_vectors, found.converts_float16),
        *(found.computes_float16, found.has_fma),
    )


def lacking(monkeypatch, *features):
    """A CPU like this one without some features."""
    host = binding.get_host_cpu_features()
    for feature in features:
        host[feature] = False
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: host)


def python(script, **environment):
    """What a process prints, that this environment is added to."""
    command = [sys.executable, "-c", script]
    given = {k: v for k, v in os.environ.items() if not k.startswith(("NUMBA", "AXIOMJIT"))}
    done = subprocess.run(
        command, cwd=ROOT, env={**given, **environment}, capture_output=True, text=True
    )
    return done.returncode, done.stdout.strip(), done.stderr


RUN = """
import numpy as np, axiomjit
from axiomjit.base.target import target
f = axiomjit.jit(lambda x: np.exp(np.log1p(x) * 3) // 2 + x.sum())
x = np.arange(1.25, 40.0)  # cubes of 1 + x are no whole numbers
print(f(x).sum() == (np.exp(np.log1p(x) * 3) // 2 + x.sum()).sum())
h = axiomjit.jit(lambda x: np.log1p(x.mean()) + x)
x = np.arange(40).astype("f2")
print(abs(h(x) - (np.log1p(x.mean()) + x)).max() <= 0.03125)
print(target().vector_bytes, target().cpu)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_what_the_psabi_says(level):
    try:
        found = find_target(level)
    except GraphValueError:
        pytest.skip("this CPU is of a lower level")
    assert (found.name, found.cpu, found.features) == (level, level, "")
    assert facts(found) == FACTS[level]


def test_native_is_the_cpu_at_hand():
    found, host = find_target("native", {}), dict(binding.get_host_cpu_features())
    assert found.cpu == binding.get_host_cpu_name()
    assert found.features == binding.get_host_cpu_features().flatten()
    assert found.computes_float16 == host["avx512fp16"]
    assert found.has_fma == host["fma"]
    assert targets._features(binding, found.cpu, found.features, host) == {
        feature for feature, on in host.items() if on
    }


@pytest.mark.parametrize(("cpu", "gains"), [("znver4", False), ("skylake-avx512", True)])
def test_loops_prefetch_for_processors_that_gain_by_it(cpu, gains, monkeypatch):
    monkeypatch.setattr(binding, "get_host_cpu_name", lambda: cpu)
    assert find_target("native", {}).prefetches is gains


OVERRIDES = [
    ({"NUMBA_CPU_NAME": "generic"}, "x86-64", (16, False, False, False, False)),
    ({"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}, "x86-64-v3", FACTS["x86-64-v3"]),
    ({"NUMBA_CPU_NAME": "x86-64", "NUMBA_CPU_FEATURES": "+avx2"}, "x86-64", (32, *[False] * 4)),
    ({"NUMBA_ENABLE_AVX": "0"}, None, (16, False, False, False, False)),
]


@pytest.mark.parametrize(("environment", "cpu", "has"), OVERRIDES)
def test_native_is_what_numbas_variables_say(environment, cpu, has):
    found = find_target("native", environment)
    assert found.cpu == (cpu or binding.get_host_cpu_name())
    assert facts(found) == has


@pytest.mark.parametrize("feature", ["avx512f", "avx512dq", "avx512fp16", "avx2", "f16c", "fma"])
def test_a_feature_taken_from_native_is_not_used(feature):
    found = find_target("native", {"NUMBA_CPU_FEATURES": f"-{feature}"})
    gone = {
        "avx512f": found.vector_bytes < 64,
        "avx512dq": found.vector_bytes < 64 and not found.divides_long_vectors,
        "avx512fp16": not found.computes_float16,
        "avx2": found.vector_bytes == 16,
        "f16c": not found.converts_float16,
        "fma": not found.has_fma,
    }
    assert gone[feature]


NUMBAS = [
    {"NUMBA_CPU_NAME": "generic"},
    {"NUMBA_CPU_NAME": "znver4"},
    {"NUMBA_CPU_FEATURES": "-avx512f"},
    {"NUMBA_CPU_FEATURES": "-avx512fp16"},
    {"NUMBA_ENABLE_AVX": "0"},
]


@pytest.mark.parametrize("environment", NUMBAS, ids=lambda e: "-".join(e.values()))
def test_functions_run_whatever_numbas_variables_say(environment):
    status, printed, errors = python(RUN, **environment)
    assert (status, errors) == (0, "")
    assert printed.splitlines()[:2] == ["True", "True"]
    assert printed.splitlines()[2].split()[0] == str(
        find_target("native", environment).vector_bytes
    )


@pytest.mark.parametrize("name", LEVELS_HERE)
def test_functions_run_for_each_level(name):
    """The functions above, in the process of random ones."""
    done = target_runs.in_process(name, 0, 3, "0", RUN)
    assert done.returncode == 0, target_runs.reported(name, done)
    assert done.stdout.splitlines()[:3] == ["True", "True", f"{FACTS[name][0]} {name}"]


def test_a_process_that_dies_is_reported():
    done = subprocess.CompletedProcess([], -11, "program 3\nrest", "Segmentation fault")
    text = target_runs.reported("x86-64-v3", done)
    assert re.match(r"x86-64-v3: ended with -11, after\nprogram 3\nrest\nSegmentation", text)


UNKNOWN = "no such target", "'native', 'x86-64', 'x86-64-v2', 'x86-64-v3', 'x86-64-v4', or a CPU"


@pytest.mark.parametrize(
    ("name", "meant"),
    [("nonsense", ""), ("", ""), ("znver44", "'znver4'"), ("x86-64-v5", "'x86-64-v"), ("i386", "")],
)
def test_unknown_names_are_refused(name, meant):
    with pytest.raises(GraphValueError) as error:
        config.target = name
    lines = str(error.value).splitlines()
    assert lines[0] == f"config.target = {name!r}"
    assert lines[1] == f"  seen: {UNKNOWN[0]}"
    assert lines[2].startswith(f"  instead: {UNKNOWN[1]} as LLVM names it, such as 'znver4'")
    assert f"did you mean {meant}" in lines[2] or not meant
    status, _, errors = python("import axiomjit", AXIOMJIT_TARGET=name)
    assert status == 1
    assert f"config.target = {name!r}\n  seen: no such target" in errors


@pytest.mark.parametrize(
    ("name", "gone", "shown"),
    [
        ("x86-64-v4", ("avx512f", "avx512vl"), "avx512f, avx512vl"),
        ("x86-64-v3", ("avx2",), "avx2"),
        ("haswell", ("fma", "bmi2"), None),
        ("x86-64-v2", ("sse4.2",), "sse4.2"),
    ],
)
def test_what_this_cpu_cannot_run_is_refused(name, gone, shown, monkeypatch):
    if name not in LEVELS_HERE and name in LEVELS:
        pytest.skip("this CPU cannot run it anyway")
    lacking(monkeypatch, *gone)
    here = binding.get_host_cpu_name()
    with pytest.raises(GraphValueError) as error:
        find_target(name)
    lines = str(error.value).splitlines()
    assert lines[0] == f"config.target = {name!r}"
    assert lines[1].startswith(f"  seen: this CPU, {here}, has no ")
    assert set(gone) <= set(lines[1].split("has no ")[1].split(", "))
    assert lines[2].startswith("  instead: 'native', or a lower level")


@pytest.mark.parametrize(
    ("environment", "seen"),
    [
        ({"NUMBA_CPU_NAME": "nonsense"}, "no such CPU or features"),
        ({"NUMBA_CPU_FEATURES": '+avx2"'}, "no such CPU or features"),
        ({"NUMBA_CPU_FEATURES": "+xop,+sse4a"}, "has no "),
    ],
)
def test_native_that_is_nothing_is_refused(environment, seen, monkeypatch):
    lacking(monkeypatch, "xop", "sse4a")
    with pytest.raises(GraphValueError, match=re.escape(seen)) as error:
        find_target("native", environment)
    name, value = next(iter(environment.items()))
    assert str(error.value).startswith(f"config.target = 'native', {name}={value}\n")


def test_a_target_is_fixed_by_the_first_use():
    script = """
import numpy as np, axiomjit
from axiomjit.base.errors import GraphValueError
axiomjit.config.target = "x86-64-v2"
axiomjit.config.target = "x86-64"
f = axiomjit.jit(lambda x: x + 1)
f(np.arange(3.0))
axiomjit.config.target = "x86-64"
try:
    axiomjit.config.target = "native"
except GraphValueError as error:
    print(error)
print(axiomjit.config.target)
"""
    status, printed, errors = python(script)
    assert (status, errors) == (0, "")
    assert printed.splitlines() == [
        "config.target = 'native'",
        "  seen: functions are compiled for 'x86-64' already",
        "  instead: set it before the first call, or start Python with AXIOMJIT_TARGET set",
        "x86-64",
    ]


def test_the_key_of_a_kernel_has_the_target():
    script = """
import numpy as np, axiomjit
from tests.passes.graphs import follow
from tests.passes.plan.test_render_source import kernels
print(*{k.key for k in kernels(follow(lambda x: x + 1, np.ones(3)))})
"""
    names = ("x86-64", "x86-64", "x86-64-v2", "native")
    keys = [python(script, AXIOMJIT_TARGET=name)[1] for name in names]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3


def test_no_cpu_is_asked_but_the_target():
    """What a kernel is like follows from its target alone."""
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("axiomjit", "passes", "runtime")
        for path in (ROOT / folder).glob("**/*.py")
        if re.search(r"\.get_host_cpu|target_context\.codegen", path.read_text("utf-8"))
    ]
    printing = {"axiomjit/base/commands.py", "axiomjit/cli/main.py"}
    assert set(found) - printing == {"axiomjit/base/target.py"}


def test_only_the_driver_and_the_command_line_ask_for_the_target_of_the_process():
    """Passes take it from their context, the runtime from the kernel."""
    asking = re.compile(r"base\.target import .*\b(target|chosen_target)\b|import target\b")
    found = [
        path.relative_to(ROOT).as_posix()
        for folder in ("axiomjit", "passes", "runtime")
        for path in (ROOT / folder).glob("**/*.py")
        if asking.search(path.read_text("utf-8"))
    ]
    allowed = ["axiomjit/base/config.py", "axiomjit/cli/main.py", "axiomjit/dispatch/programs.py"]
    assert sorted(set(found)) == allowed


@pytest.mark.parametrize("packed", [False, True])
def test_a_kernel_is_compiled_for_its_own_target(packed):
    """Whatever the target of the process is by then."""
    with target_with(divides_long_vectors=packed):
        (kernel,) = kernels(follow(lambda x: x // 7, np.ones(300, "i8")))
    with target_with(divides_long_vectors=not packed):
        (other,) = kernels(follow(lambda x: x // 7, np.ones(300, "i8")))
        code = KERNELS.compiled(kernel).llvm
    assert kernel.target.record.divides_long_vectors is packed
    assert kernel.source == other.source
    assert kernel.key != other.key
    assert ("sdiv" in code) is not packed


def test_functions_of_the_library_are_compiled_for_each_target():
    x = np.linspace(-1.0, 1.0, 300)
    for size in (16, target().vector_bytes):
        with target_with(vector_bytes=size):
            (kernel,) = kernels(follow(lambda x: sum(np.exp(x + k) for k in range(9)), x))
            assert f"axiomjit_exp_f8_called_x{size // 8}" in KERNELS.compiled(kernel).llvm


def test_names_of_cpus_are_llvms():
    script = """
from llvmlite import binding
binding.initialize_native_target()
binding.Target.from_triple(binding.get_process_triple()).create_target_machine(cpu="help")
"""
    listed = set(re.findall(r"^  (\S+) +- Select", python(script)[2], re.MULTILINE))
    assert len(listed) > 100
    assert listed >= CPUS
    assert NAMES.split() == sorted(CPUS)


def test_no_feature_for_computing_counts_as_unused():
    names = [name for name in binding.get_host_cpu_features() if re.fullmatch(UNUSED, name)]
    assert not [n for n in names if n.startswith(("avx", "sse", "bmi", "f16c", "fma", "lzcnt"))]
    assert "rtm" in names
