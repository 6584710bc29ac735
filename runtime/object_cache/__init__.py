"""Machine code of kernels on disk: entries, their folders, and their loader.

An entry is metadata in JSON and object files, never a pickle. Nothing here imports numba.

- `entry`: an entry as bytes and back, with the tables of its object files
- `keys`: everything that decides machine code, and what LLVM says of this processor
- `loader`: an entry to a function at an address, mostly without LLVM, and out of memory again
- `llvm_text`: a builder of LLVM text, for code of our own
- `store`: the folders of this process, which only this user can write, asked in order

May import `base`, `passes.ir`.
"""
