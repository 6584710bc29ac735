"""Machine code of the runtime's own LLVM text: from disk, else compiled and stored there.

Such code is the same in every program, while the keys of kernels contain more. It may be called
until the process ends, even after Python has cleared modules, so it is never unloaded.
"""

from __future__ import annotations

import time
from typing import Any, Final

from axiomjit.base.config import config
from axiomjit.base.hashing import sha256
from axiomjit.base.keep_alive import keep_alive
from axiomjit.base.locks import FORKS_WAIT
from axiomjit.runtime.object_cache.entry import make_entry
from axiomjit.runtime.object_cache.keys import compiler_versions
from axiomjit.runtime.object_cache.loader import LoadedCode, load
from axiomjit.runtime.object_cache.store import CODE_SUFFIX, OBJECTS


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run a manager's passes over a module, and free the manager (75 KB for a whole pipeline)."""
    from llvmlite.binding.newpassmanagers import NewPassManager

    try:
        manager.run(module, builder)
    finally:
        NewPassManager._dispose(manager)  # its close() does not free it
        manager.detach()


PASSES: Final = ("sroa", "instruction_combine", "simplify_cfg")
"""The LLVM passes for a text, in order."""
MACHINE: Final = {"opt": 2, "codemodel": "jitdefault", "jit": True}
"""The options of LLVM's target machine."""


def cached_code(text: str, symbol: str) -> LoadedCode:
    """The address of the function `symbol` of a text; it is never unloaded.

    Raises:
        ImportError: there is no llvmlite.
        RuntimeError, OSError, ValueError: it could not be compiled or loaded.
    """
    key = _key(text) if OBJECTS.folders() else ""
    found = OBJECTS.find(key, CODE_SUFFIX) if key else None
    if found is not None:
        return keep_alive(found[1])
    began = time.perf_counter()
    with FORKS_WAIT:
        code = compiled(text)
    entry = make_entry(key, symbol, (code,), (time.perf_counter() - began) * 1e3)
    if key:
        OBJECTS.keep(entry, CODE_SUFFIX)
    loaded = load(entry)
    if loaded is None:
        raise RuntimeError(f"LLVM does not load the code of {symbol}")
    return keep_alive(loaded)


def compiled(text: str) -> bytes:
    """The object file of a text, for any CPU of this kind."""
    from llvmlite import binding

    machine = _machine(binding)
    module = binding.parse_assembly(text)
    module.verify()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    run_passes(passes, module, builder)
    return bytes(machine.emit_object(module))


def _machine(binding: Any) -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(**MACHINE)


def _key(text: str) -> str:
    """The key of the text's code on disk; empty if the compiler's version is unknown."""
    try:
        parts = "own code", text, PASSES, MACHINE, compiler_versions(), config.cache_tag
    except (ImportError, OSError):
        return ""
    return sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()
