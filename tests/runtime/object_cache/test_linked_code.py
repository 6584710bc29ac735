"""Object files as code in memory without LLVM: what is linked, refused, and given back."""

import ctypes
import platform

import pytest
from llvmlite import binding

from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache.entries import (
    NotLinkedError,
    function_address,
    link,
    make_entry,
    plain_code,
    read_object,
)
from tests.runtime.object_cache.object_runs import object_of

pytestmark = pytest.mark.skipif(platform.machine() != "x86_64", reason="code of x86-64")
FIRST = """
@numbers = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
@count = internal global i64 100
@room = internal global [5000 x i64] zeroinitializer
declare i64 @other(i64)
declare double @hypot(double, double)
define i64 @first(i64 %k) {
  %at = getelementptr [4 x i64], ptr @numbers, i64 0, i64 %k
  %number = load i64, ptr %at
  %before = load i64, ptr @count
  %after = add i64 %before, %number
  store i64 %after, ptr @count
  %place = getelementptr [5000 x i64], ptr @room, i64 0, i64 4999
  %held = load i64, ptr %place
  %length = call double @hypot(double 3.0, double 4.0)
  %whole = fptosi double %length to i64
  %sum = add i64 %after, %held
  %all = add i64 %sum, %whole
  %result = call i64 @other(i64 %all)
  ret i64 %result
}
"""
SECOND = """
@numbers = private constant [2 x i64] [i64 1000, i64 2000]
define i64 @other(i64 %x) {
  %odd = and i64 %x, 1
  %at = getelementptr [2 x i64], ptr @numbers, i64 0, i64 %odd
  %number = load i64, ptr %at
  %result = add i64 %x, %number
  ret i64 %result
}
"""


def compiled(text):
    """The object file of a text of LLVM, for code in memory as kernels are."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(jit=True)
    return read_object(machine.emit_object(binding.parse_assembly(text)))


@pytest.fixture(scope="module")
def files():
    """Two object files, one of which uses the other, constants, numbers that change, and libm."""
    return compiled(FIRST), compiled(SECOND)


def test_files_find_each_other_constants_and_functions_of_the_c_library(files):
    code = link(files, "first", {"hypot": function_address("hypot")})
    first = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address)
    assert [first(k) for k in range(4)] == [1000 + 108, 2000 + 113, 1000 + 120, 2000 + 131]
    again = link(files, "first", {"hypot": function_address("hypot")})
    fresh = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(again.address)
    assert fresh(0) == 1000 + 108  # each has memory of its own


def permissions(address):
    """What may be done with memory, as Linux writes it."""
    with open("/proc/self/maps") as lines:
        for line in lines:
            start, end = (int(number, 16) for number in line.split()[0].split("-"))
            if start <= address < end:
                return line.split()[1]
    return ""


@pytest.mark.skipif(platform.system() != "Linux", reason="memory is read from /proc")
def test_code_is_not_written_and_goes_when_nobody_holds_it(files):
    code = link(files, "first", {"hypot": function_address("hypot")})
    address = code.address
    assert permissions(address) == "r-xp"
    del code
    assert permissions(address) != "r-xp"


def test_what_is_nowhere_is_refused(files):
    with pytest.raises(NotLinkedError, match="no hypot"):
        link(files, "first", {})
    with pytest.raises(NotLinkedError, match="no second"):
        link(files, "second", {"hypot": 1})


def test_other_machines_and_threads_own_numbers_are_refused(files):
    with pytest.raises(NotLinkedError, match="another machine"):
        link([files[1].replace(machine=183)], "other", {})
    own = "@own = thread_local global i64 1\ndefine ptr @it() { ret ptr @own }"
    with pytest.raises(NotLinkedError):
        link([compiled(own)], "it", {})


def test_a_place_outside_its_section_is_refused(files):
    damaged = files[1]
    sections = list(damaged.sections)
    for k, section in enumerate(sections):
        if section.kind == 4:
            end = (sections[section.info].size - 3).to_bytes(8, "little")
            sections[k] = section._replace(content=end + section.content[8:])
    with pytest.raises(NotLinkedError, match="outside"):
        link([damaged.replace(sections=tuple(sections))], "other", {})


def test_what_our_linker_refuses_llvm_links(monkeypatch):
    entry = make_entry("0" * 64, "planted", (object_of(6, "hypot"),), 1.0)
    asked = []

    def refusing(*given):
        asked.append(given)
        raise NotLinkedError("as a test wants it")

    monkeypatch.setattr(entries, "link", refusing)
    code, words = entries.load(entry), (ctypes.c_int64 * 1)()
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2)
    kernel(code.address)(None, None, ctypes.addressof(words), 0, 1)
    assert (len(asked), words[0]) == (1, 6)


def test_instructions_alone_run():
    """mov eax, 7; ret."""
    code = plain_code(bytes.fromhex("b807000000c3"))
    assert ctypes.CFUNCTYPE(ctypes.c_int)(code.address)() == 7


def test_functions_are_found_where_the_process_has_them():
    assert function_address("memcpy")
    assert function_address("axiomjit_nowhere") is None
