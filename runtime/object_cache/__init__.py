"""Machine code of kernels on disk: entries, their folders, and their loader.

An entry is metadata in JSON and object files, never a pickle. Nothing here imports numba.

- `object_file`: the tables of an ELF object file, and the names that it needs and defines
- `entry`: an entry as bytes and back; a damaged one gives nothing
- `keys`: the key of a kernel on disk: everything that decides its machine code
- `known_targets`: LLVM's answers about this processor, without asking it again
- `store`: the folders of this process, which only this user can write, asked in order
- `loader`: an entry to a function at an address, mostly without LLVM, and out of memory again
- `llvm_text`: a builder of LLVM text, for code of our own
- `cached_code`: such code, which is the same in every program

May import `base`, `passes.ir`.
"""
