"""The CPU that kernels are compiled for: its name and its capabilities.

`config.target` names the CPU, and Numba's environment variables define the CPU "native". `dispatch`
passes the process's target to the passes, a kernel stores the target, and the runtime compiles for
the kernel's target. No pass and no code generator queries the host CPU, so a target gives the same
code on every host. A process keeps its target once the capabilities have been looked up.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from axiomjit.base.errors import GraphValueError
from axiomjit.base.locks import FORKS_WAIT, new_lock
from axiomjit.base.records import Record

NATIVE: Final = "native"
LEVELS: Final = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
NAMES: Final = """
alderlake amdfam10 arrowlake arrowlake-s athlon-fx athlon64 athlon64-sse3 atom barcelona
bdver1 bdver2 bdver3 bdver4 bonnell broadwell btver1 btver2 cannonlake cascadelake
clearwaterforest cooperlake core-avx-i core-avx2 core2 corei7 corei7-avx diamondrapids
emeraldrapids goldmont goldmont-plus gracemont grandridge graniterapids graniterapids-d
haswell icelake-client icelake-server ivybridge k8 k8-sse3 knl knm lunarlake meteorlake
nehalem nocona novalake opteron opteron-sse3 pantherlake penryn raptorlake rocketlake
sandybridge sapphirerapids sierraforest silvermont skx skylake skylake-avx512 slm tigerlake
tremont westmere wildcatlake znver1 znver2 znver3 znver4 znver5
"""
CPUS: Final = frozenset(NAMES.split())
"""LLVM's names of 64-bit x86 CPUs; LLVM aborts the process on an unknown name."""
GENERIC: Final = "generic"
"""LLVM's name for the baseline CPU, which is also the first of `LEVELS`."""
UNUSED: Final = (
    r"aes|amx-.*|cl.*|cmpccxadd|enqcmd|fsgsbase|fxsr|hreset|invpcid|kl|lwp|mov(?:dir.*|rs)|mwaitx"
    r"|pclmul|pconfig|pku|prefetchi|prfchw|ptwrite|raoint|rdp.*|rdrnd|rdseed|rtm|serialize|sgx"
    r"|sha|sha512|shstk|sm[34]|tsxldtrk|u(?:intr|sermsr)|vaes|vpclmulqdq|waitpkg|wbnoinvd|widekl"
    r"|xsave.*"
)
"""A pattern that matches the CPU features whose instructions LLVM emits only if a program asks for
them by name."""
NEEDS_AVX: Final = frozenset({"f16c", "fma", "fma4", "sm3", "sm4", "sha512", "vaes", "vpclmulqdq"})
USED_FEATURES: Final = ("avx2", "avx512dq", "avx512vl", "avx512fp16", "f16c", "fma")
"""The CPU features that code generation depends on."""


class Target(Record):
    """A CPU to compile for; equal `cpu` and `features` give the same code on every host."""

    name: str
    """The target's name in `config.target`."""
    cpu: str = ""
    """LLVM's name of the CPU, which selects the instruction scheduling."""
    features: str = ""
    """The features that are added to or removed from the features of `cpu`, as in
    +avx2,-avx512f."""
    vector_bytes: int = 16
    """The vector length for elementary functions, in bytes.

    With AVX-512 the length is 64, even where LLVM prefers 32: a polynomial then takes little more
    than half the time."""
    divides_long_vectors: bool = False
    """True if vectors of 64-bit integers are divided fastest by converting them to float64.

    The division needs packed conversions between int64 and float64, as in AVX-512DQ. On other CPUs
    the scalar instruction is faster, and makes the loop around it scalar."""
    converts_float16: bool = False
    """True if the CPU has instructions that convert float16 from and to float32."""
    computes_float16: bool = False
    """True if the CPU has instructions that compute in float16."""
    has_fma: bool = False
    """True if the CPU has an instruction that multiplies and adds with a single rounding."""
    prefetches: bool = True
    """True if software prefetching makes loops faster.

    AMD's Zen processors prefetch well themselves: elementary functions gain nothing, and argmin and
    argmax lose a quarter of their speed."""


class ChosenTarget:
    """A target by name; its record is looked up at first use and stored.

    The lookup imports LLVM, which lowering without compiling does not need.
    """

    __slots__ = ("_found", "name")

    def __init__(self, name: str, found: Target | None = None) -> None:
        self.name, self._found = name, found

    @property
    def is_found(self) -> bool:
        """True if the record has been looked up."""
        return self._found is not None

    def take(self, found: Target) -> None:
        """Store the record that an earlier process looked up on the same kind of CPU."""
        self._found = found

    @property
    def record(self) -> Target:
        """The target's capabilities.

        Raises:
            GraphValueError: this CPU cannot run the target's code, or Numba's environment variables
                name no known CPU.
        """
        if self._found is None:
            with FORKS_WAIT:  # queries LLVM
                if self._found is None:
                    self._found = find_target(self.name)
        return self._found


class _Process:
    """The target chosen for this process."""

    chosen = ChosenTarget(NATIVE)
    lock = new_lock()


def chosen_target() -> ChosenTarget:
    """The target that this process compiles for."""
    return _Process.chosen


def target() -> Target:
    """The record of the target that this process compiles for.

    Raises:
        GraphValueError: this CPU cannot run the target's code, or Numba's environment variables
            name no known CPU.
    """
    return _Process.chosen.record


def name_target(name: str) -> None:
    """Choose a target at process start, without checking that this CPU can run it.

    Raises:
        GraphValueError: there is no target of this name.
    """
    if name not in (NATIVE, GENERIC, *LEVELS, *CPUS):
        raise GraphValueError(f"config.target = {name!r}", "no such target", _known(name))
    _Process.chosen = ChosenTarget(name)


def choose_target(name: str) -> None:
    """Choose a target that this CPU can run, before anything is compiled for another target.

    Raises:
        GraphValueError: the name is unknown, this CPU cannot run the target's code, or functions
            were compiled already.
    """
    with _Process.lock:
        before = _Process.chosen
        if name == before.name:
            return
        name_target(name)
        try:
            if before.is_found:
                seen = f"functions are compiled for {before.name!r} already"
                remedy = "set it before the first call, or start Python with AXIOMJIT_TARGET set"
                raise GraphValueError(f"config.target = {name!r}", seen, remedy)
            find_target(name)
        except GraphValueError:
            _Process.chosen = before
            raise


def find_target(name: str, environment: Mapping[str, str] = os.environ) -> Target:
    """Look up the target of a known name.

    Raises:
        GraphValueError: this CPU cannot run the target's code, or Numba's environment variables
            name no known CPU.
    """
    try:
        from llvmlite import binding
    except ImportError:  # without llvmlite, nothing is compiled
        return Target(name)
    binding.initialize_native_target()
    here = binding.get_host_cpu_name()
    try:
        host = dict(binding.get_host_cpu_features())
    except RuntimeError:  # LLVM does not know this CPU
        host = {}
    if platform.machine() not in ("x86_64", "AMD64"):
        if name == NATIVE:
            return Target(name, here, _written(host))
        seen = f"this is {platform.machine()}"
        raise GraphValueError(f"config.target = {name!r}", seen, "leave it at 'native'")
    cpu, features = (name, "") if name != NATIVE else _own_cpu(here, host, environment)
    if (cpu, features) == (here, _written(host)):
        return _make_target(name, cpu, features, {f for f in USED_FEATURES if host.get(f)})
    asked = f"config.target = {name!r}" + _overrides(environment) * (name == NATIVE)
    if cpu not in (GENERIC, *LEVELS, *CPUS, here) or not re.fullmatch(r"[-+.,\w]*", features):
        raise GraphValueError(asked, "no such CPU or features", _known(cpu))
    cpu = LEVELS[0] if cpu == GENERIC else cpu
    maybe = [f for f, on in host.items() if not on and not re.fullmatch(UNUSED, f)]
    found = _features(binding, cpu, features, [*USED_FEATURES, *maybe])
    missing = [feature for feature in maybe if feature in found]
    if missing:
        seen = f"this CPU, {here}, has no {', '.join(missing)}"
        fitting = "'native', or a lower level of 'x86-64', 'x86-64-v2', 'x86-64-v3'"
        raise GraphValueError(asked, seen, fitting)
    return _make_target(name, cpu, features, found)


def _known(name: str) -> str:
    levels = ", ".join(map(repr, LEVELS))
    import difflib  # here, since only errors need it

    close = difflib.get_close_matches(str(name), (*LEVELS, *sorted(CPUS)), 1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    return f"{NATIVE!r}, {levels}, or a CPU as LLVM names it, such as 'znver4'{meant}"


def _written(features: Mapping[str, bool]) -> str:
    """The text of features in LLVM's notation."""
    return ",".join([("+" if on else "-") + name for name, on in sorted(features.items())])


def _own_cpu(here: str, host: dict[str, bool], environment: Mapping[str, str]) -> tuple[str, str]:
    """The CPU and the features that Numba's environment variables define."""
    cpu = environment.get("NUMBA_CPU_NAME") or here
    given = environment.get("NUMBA_CPU_FEATURES", "" if cpu == GENERIC else None)
    if given is not None:
        return cpu, ",".join(filter(None, (_hidden_features(host) if cpu == here else "", given)))
    if environment.get("NUMBA_ENABLE_AVX", "1") == "0":
        host = {f: on and not f.startswith("avx") and f not in NEEDS_AVX for f, on in host.items()}
    return cpu, _written(host)


def _hidden_features(host: Mapping[str, bool]) -> str:
    """The features that the name of this CPU promises and that a virtual machine hides."""
    return _written({f: on for f, on in host.items() if not on and not re.fullmatch(UNUSED, f)})


def _overrides(environment: Mapping[str, str]) -> str:
    variables = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX")
    return "".join(f", {name}={environment[name]}" for name in variables if name in environment)


def _make_target(name: str, cpu: str, features: str, found: Iterable[str]) -> Target:
    has = {feature: feature in found for feature in USED_FEATURES}
    long = has["avx512dq"] and has["avx512vl"]
    return Target(
        name,
        cpu,
        features,
        vector_bytes=64 if long else 32 if has["avx2"] else 16,
        divides_long_vectors=has["avx512dq"],
        converts_float16=has["f16c"],
        computes_float16=has["avx512fp16"],
        has_fma=has["fma"],
        prefetches=not cpu.startswith("znver"),
    )


_PROBE: Final = """
define internal i32 @used{k}(i32 %x) "target-cpu"="x86-64" "target-features"="+{wanted}" {{
  %y = mul i32 %x, {k}
  ret i32 %y
}}
define i32 @user{k}(i32 %x) "target-cpu"="{cpu}" "target-features"="{features}" {{
  %y = call i32 @used{k}(i32 %x)
  ret i32 %y
}}
"""
INLINE_THRESHOLD: Final = 225
"""LLVM's default inlining threshold."""


def _features(binding: Any, cpu: str, features: str, wanted: Iterable[str]) -> set[str]:
    """The features in `wanted` that a CPU with the given features supports.

    The test uses LLVM's inliner, which inlines a function only into a caller that has all features
    of the function.
    """
    names = dict(enumerate(dict.fromkeys(wanted), 3))
    triple = binding.get_process_triple()
    machine = binding.Target.from_triple(triple).create_target_machine(cpu=LEVELS[0])
    pairs = (
        _PROBE.format(k=k, wanted=name, cpu=cpu, features=features) for k, name in names.items()
    )
    module = binding.parse_assembly(f'target triple = "{triple}"\n' + "".join(pairs))
    options = binding.create_pipeline_tuning_options(speed_level=1)
    options.inlining_threshold = INLINE_THRESHOLD
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    users = {k: str(module.get_function(f"user{k}")) for k in names}
    return {name for k, name in names.items() if f"@used{k}(" not in users[k]}
