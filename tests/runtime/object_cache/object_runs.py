"""Campaigns on the cache of machine code: damaged entries, and processes that are killed.

`python -m tests.runtime.object_cache.object_runs damage --entries 10000` damages entries in every
way of `DAMAGES` and asks for each kernel again. Instead, `kills --processes 16 --keys 200` lets
processes read and write one folder while they are killed at random. Kernels are made by LLVM alone,
in a millisecond; all have one symbol, and each stores a number of its own.
"""

import argparse
import contextlib
import ctypes
import hashlib
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from llvmlite import binding

from axiomjit.base.config import config
from axiomjit.base.target import chosen_target
from axiomjit.passes.ir.plan_ir import Kernel, Parameter
from axiomjit.runtime.codegen.kernel_cache import KernelCache
from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache.store import ObjectStore

NAME = "tests.runtime.object_cache.object_runs"
ROOT = Path(__file__).resolve().parents[3]
SYMBOL = "planted"
PROGRAM = """
{declared}
define i32 @planted(ptr %result, ptr %exception, ptr %words, i64 %lo, i64 %hi) {{
  {called}
  store i64 {number}, ptr %words
  ret i32 0
}}
"""


def object_of(number, calls=""):
    """An object file whose kernel stores a number, and calls something first."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_triple(binding.get_process_triple())
    machine = target.create_target_machine(jit=True)
    declared = f"declare double @{calls}(double)" * bool(calls)
    called = f"call double @{calls}(double 1.0)" * bool(calls)
    text = PROGRAM.format(number=number, declared=declared, called=called)
    return machine.emit_object(binding.parse_assembly(text))


class Planted:
    """What stands in for a compiled kernel."""

    def __init__(self, number, calls=""):
        self.symbol, self.compile_ms, self.checked = SYMBOL, 1.0, False
        self.objects = (object_of(number, calls),)


def planted_kernel(number):
    """The kernel that stores this number."""
    text = f"def kernel(w, lo, hi):\n    store(buffer(w, 0), 0, {number})\n"
    parameters = (Parameter("o0", "buffer", "i8"),)
    return Kernel(text, parameters, f"planted {number}", False, chosen_target())


class Process:
    """A process as the cache sees it: nothing in memory, and a count of what it compiles."""

    def __init__(self):
        self.compiled = []
        self.cache = KernelCache(self.compile, ObjectStore())

    def compile(self, kernel, checked):
        self.compiled.append(kernel.key)
        return Planted(int(kernel.key.split()[-1]))

    def stored(self, number):
        """What the kernel of this number stores."""
        words = (ctypes.c_int64 * 1)()
        self.cache.get(planted_kernel(number)).entry(ctypes.addressof(words), 0, 1)
        return words[0]


def sealed(key, symbol, calls, objects):
    """The bytes of an entry that says what it likes, with the right digest."""
    return entries.pack(entries.Entry(key, symbol, calls, objects, 1.0, ()))


def _bit_flip(draw, path, data, other):
    at = draw.randrange(len(data))
    path.write_bytes(data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1 :])


def _truncated(draw, path, data, other):
    path.write_bytes(data[: draw.randrange(len(data))])


def _longer(draw, path, data, other):
    path.write_bytes(data + bytes(draw.randrange(1, 99)))


def _swapped(draw, path, data, other):
    path.write_bytes(other)


def _empty(draw, path, data, other):
    path.write_bytes(b"")


def _noise(draw, path, data, other):
    path.write_bytes(draw.randbytes(draw.randrange(1, 5000)))


def _wrong_machine(draw, path, data, other):
    entry = entries.unpack(path.stem, data)
    code = bytearray(entry.objects[0])
    code[0x12:0x14] = draw.choice([b"\x28\0", b"\xf3\0", b"\x03\0"])
    path.write_bytes(sealed(entry.key, entry.symbol, (), (bytes(code),)))


def _damaged_object(draw, path, data, other):
    """Noise in the header or the sections of the object itself, under the right digest."""
    entry = entries.unpack(path.stem, data)
    code = bytearray(entry.objects[0])
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    fields = [0x10, 0x14, 0x28, 0x34, 0x3A, 0x3C, 0x3E]
    fields += [sections + 64 * k + field for k in range(1, code[0x3C]) for field in (4, 24, 32, 40)]
    struct.pack_into("<H", code, draw.choice(fields), draw.choice([0x7FFF, 0xFFF0]))
    path.write_bytes(sealed(entry.key, entry.symbol, (), (bytes(code),)))


def _undefined(draw, path, data, other):
    name = draw.choice(["axiomjit_nowhere", "getpid", "system", "hypot"])
    calls = (name,) if draw.random() < 0.5 and name != "hypot" else ()
    path.write_bytes(sealed(path.stem, SYMBOL, calls, (object_of(-1, name),)))


def _other_symbol(draw, path, data, other):
    entry = entries.unpack(path.stem, data)
    path.write_bytes(sealed(entry.key, "absent", (), entry.objects))


def _huge(draw, path, data, other):
    os.truncate(path, entries.LARGEST + draw.randrange(1, 2**36))


def _folder(draw, path, data, other):
    path.unlink()
    path.mkdir()


def _full_folder(draw, path, data, other):
    _folder(draw, path, data, other)
    (path / "file").write_bytes(data)


def _link(draw, path, data, other):
    path.rename(path.with_suffix(".elsewhere"))
    path.symlink_to(path.with_suffix(".elsewhere"))


def _pipe(draw, path, data, other):
    path.unlink()
    os.mkfifo(path)


def _writable_by_others(draw, path, data, other):
    path.chmod(0o666)


def _metadata(draw, path, data, other):
    """JSON that is none, or of other kinds, under the right digest."""
    line = draw.choice([b"{", b"[" * 5000, b"null", b"{}", b'{"key": 1}', b"\xff" * 40])
    rest = len(line).to_bytes(4, "little") + line
    path.write_bytes(entries.MAGIC + hashlib.sha256(rest).digest() + rest)


DAMAGES = {
    damage.__name__.strip("_"): damage
    for damage in (
        *(_bit_flip, _truncated, _longer, _swapped, _empty, _noise, _wrong_machine),
        *(_damaged_object, _undefined, _other_symbol, _huge, _folder, _full_folder, _link),
        *(_pipe, _writable_by_others, _metadata),
    )
}
STAYS = {"full_folder"}
"""What cannot be replaced: the kernel is compiled by each process."""

HARMLESS = {"damaged_object"}
"""What may hit a field that nobody reads: the code is right without compiling."""


def files_by_number(folder, process, numbers):
    """The file of each kernel, by compiling it."""
    found = {}
    for number in numbers:
        before = set(folder.glob("*.kernel"))
        assert process.stored(number) == number
        (found[number],) = set(folder.glob("*.kernel")) - before
    return found


def damage_entries(folder, count, seed=0, names=tuple(DAMAGES)):
    """Damage entries and ask for their kernels again; what went wrong, by kind of damage."""
    config.cache_dir = str(folder)
    draw, wrong = random.Random(seed), Counter()
    numbers = range(8)
    files = files_by_number(folder, Process(), numbers)
    for k in range(count):
        name = names[k % len(names)]
        number = draw.choice(numbers)
        path = files[number]
        whole = path.read_bytes()
        DAMAGES[name](draw, path, whole, files[(number + 1) % len(files)].read_bytes())
        again, later = Process(), Process()
        right = again.stored(number) == number and later.stored(number) == number
        replaced = name in STAYS or not later.compiled
        made = len(again.compiled) == 1 or (name in HARMLESS and not again.compiled)
        if not (right and made and replaced):
            wrong[name] += 1
        if name in STAYS:
            (path / "file").unlink()
            path.rmdir()
            path.write_bytes(whole)
            path.chmod(0o600)
        path.with_suffix(".elsewhere").unlink(missing_ok=True)
    return wrong


def work(folder, keys, seed):
    """Ask for all keys in random order, for ever; ends the process at a wrong answer."""
    config.cache_dir = folder
    draw = random.Random(seed)
    while True:
        process = Process()
        for number in draw.sample(range(keys), keys):
            if process.stored(number) != number:
                print(f"wrong: {number}", flush=True)
                sys.exit(3)
        print("round", flush=True)


def kill_processes(folder, processes, keys, kills, seed=0):
    """Kill processes that use one folder; how many gave a wrong answer or crashed, and rounds."""
    command = [sys.executable, "-m", NAME, "work", "--folder", str(folder), "--keys", str(keys)]
    draw, failed = random.Random(seed), 0
    with tempfile.TemporaryFile("w+") as output:

        def start(number):
            return subprocess.Popen([*command, "--seed", str(number)], cwd=ROOT, stdout=output)

        running = [start(k) for k in range(processes)]
        for k in range(kills):
            time.sleep(draw.uniform(0.0, 0.4))
            place = draw.randrange(processes)
            running[place].send_signal(signal.SIGKILL)
            failed += running[place].wait() != -signal.SIGKILL
            running[place] = start(processes + k)
        rounds, patience = 0, time.monotonic() + 120
        while not rounds and time.monotonic() < patience:
            time.sleep(0.2)
            output.seek(0)
            rounds = output.read().count("round")
        for process in running:
            process.kill()
            failed += process.wait() != -signal.SIGKILL
    return failed, rounds


def all_right(folder, keys):
    """How many keys give a wrong answer in the end, and how many of them must be compiled."""
    config.cache_dir = str(folder)
    process = Process()
    return sum(process.stored(number) != number for number in range(keys)), len(process.compiled)


def main():
    """Run one campaign."""
    parser = argparse.ArgumentParser(prog=NAME, description=__doc__)
    parser.add_argument("campaign", choices=["damage", "kills", "work"])
    for name, default in (("entries", 1000), ("processes", 16), ("keys", 200), ("kills", 200)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.campaign == "work":
        work(given.folder, given.keys, given.seed)
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        folder = Path(name, "kernels")
        if given.campaign == "damage":
            wrong = damage_entries(folder, given.entries, given.seed)
            print(f"{given.entries} damaged entries, wrong: {dict(wrong) or 'none'}")
            return bool(wrong)
        failed, rounds = kill_processes(
            folder, given.processes, given.keys, given.kills, given.seed
        )
        wrong, compiled = all_right(folder, given.keys)
        print(f"{given.kills} kills, {rounds} whole rounds, {failed} failed processes")
        print(f"afterwards {wrong} wrong of {given.keys}, {compiled} compiled again")
        return bool(failed or wrong)
    return 0


if __name__ == "__main__":
    sys.exit(main())
