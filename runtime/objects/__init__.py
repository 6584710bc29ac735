"""Machine code of kernels on disk: entries, where they lie, and how they are loaded.

An entry is metadata in JSON and object files, never a pickle. Nothing here imports numba.

- `entry`: an entry as bytes and back; what is damaged gives nothing
- `directory`: a folder that only this user can write, its files and their bound
- `keys`: the key of a kernel on disk: everything that decides its machine code
- `processor`, `known_targets`: what LLVM says of this processor, without asking it again
- `store`: the folders of this process, asked in order
- `linked_code`: object files to code in memory, without LLVM
- `kept_code`: code that is the same in every program
- `loader`: an entry to a function at an address, and out of memory again

May import `base`, `passes.ir`, `runtime.llvm`.
"""
