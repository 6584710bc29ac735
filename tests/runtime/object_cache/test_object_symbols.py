"""Machine code is loaded if all it calls is there; what is not is named."""

import statistics
import struct
import time

import numpy as np
import pytest
from llvmlite import binding, ir
from numba.core.compiler_lock import global_compiler_lock

import axiomjit
from axiomjit.base.errors import CompileError
from axiomjit.base.target import target
from axiomjit.runtime.codegen import kernel_types
from axiomjit.runtime.codegen.emitters import call_function
from axiomjit.runtime.codegen.llvm_functions import target_context
from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache.entries import C_FUNCTIONS, make_entry, read_object, tables_of

MODULE = """
@where = external global i64
declare double @{called}(double)
declare double @not_called(double)
define internal double @own(double %x) noinline {{
  ret double %x
}}
define double @{name}(double %x) {{
  %y = call double @{called}(double %x)
  %z = call double @own(double %y)
  ret double %z
}}
"""


def code(called, name="it"):
    target_context(target())  # starts LLVM
    machine = binding.Target.from_triple(binding.get_process_triple()).create_target_machine()
    return machine.emit_object(binding.parse_assembly(MODULE.format(called=called, name=name)))


def load(called, name):
    """The loaded code of a function that calls another one."""
    with global_compiler_lock:
        library = target_context(target()).codegen().create_library(name)
        library.add_llvm_module(binding.parse_assembly(MODULE.format(called=called, name=name)))
        library.finalize()
    return entries.load(make_entry("", name, library.objects, 0.0))


@pytest.mark.parametrize("called", ["cbrt", "__truncdfhf2", "x" * 500])
def test_undefined_symbols_are_what_is_called_and_not_defined(called):
    assert tables_of(code(called)).undefined == {called}


def test_what_is_no_elf_file_names_nothing():
    assert tables_of(b"\xcf\xfa\xed\xfe" + bytes(200)).symbols == ()


def test_a_part_of_an_object_file_is_refused():
    whole = code("cbrt")
    assert {symbol.name for symbol in read_object(whole).symbols} >= {"it", "own", "cbrt"}
    for size in range(0, len(whole) - 8, 7):
        with pytest.raises(ValueError, match="no whole object file"):
            read_object(whole[:size])


def test_tables_that_lead_outside_are_refused():
    """Each field of each section and symbol that LLVM follows, set beyond the end."""
    whole, refused = code("cbrt"), 0
    (start,) = struct.unpack_from("<Q", whole, 0x28)
    (count,) = struct.unpack_from("<H", whole, 0x3C)
    sections = [start + 64 * k for k in range(1, count)]
    for at in [0x28, 0x3A, 0x3C, 0x3E, *(s + f for s in sections for f in (24, 32, 40))]:
        damaged = bytearray(whole)
        struct.pack_into("<I", damaged, at, 0x7FFF_FFFF)
        try:
            read_object(bytes(damaged))
        except ValueError:
            refused += 1
    assert refused >= 3 * len(sections)


@pytest.mark.parametrize("absent", ["axiomjit_absent", "__truncdfhf2", "getpid", "cbrt"])
def test_code_that_calls_what_is_not_provided_is_not_loaded(absent):
    """Functions of the process that are none of those that kernels may call are refused, too."""
    with pytest.raises(CompileError) as error:
        load(absent, f"calls_{absent}")
    assert str(error.value).splitlines() == [
        f"load the machine code of 'calls_{absent}' for the target {target().name!r}",
        f"  seen: it calls {absent}, which nothing provides",
        "  instead: report this, and meanwhile run with AXIOMJIT_DISABLE=1 or on another target",
    ]


@pytest.mark.parametrize("there", ["hypot", "fmod"])
def test_code_that_calls_the_c_library_is_loaded(there):
    assert load(there, f"calls_{there}").address


def test_code_that_calls_a_function_of_other_code_is_not_loaded():
    load("hypot", "earlier")
    with pytest.raises(CompileError, match="it calls earlier, which nothing provides"):
        load("earlier", "later")


def test_each_provided_function_is_found():
    target_context(target())  # starts LLVM
    assert [name for name in C_FUNCTIONS if binding.address_of_symbol(name) is None] == []


def test_a_kernel_that_calls_what_is_nowhere_is_refused(monkeypatch, memory_only):
    """Not run, as it was when LLVM wrote a call of `__truncdfhf2`."""

    def call(builder, value):
        return call_function(builder, "axiomjit_nowhere", ir.HalfType(), [value])

    monkeypatch.setattr(kernel_types, "narrowed", call)
    with pytest.raises(CompileError, match="it calls axiomjit_nowhere, which"):
        axiomjit.jit(lambda x: x + x + x + x)(np.ones(3, "f2"))


def test_looking_for_symbols_takes_little_time():
    """A kernel takes 50 ms to compile."""
    text, times = code("cbrt"), []
    for _ in range(21):
        start = time.thread_time()
        tables_of(text)
        times.append(time.thread_time() - start)
    assert statistics.median(times) < 0.5e-3
