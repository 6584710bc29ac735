"""Machine code of kernels on disk.

An entry consists of metadata in JSON and object files; it is never a pickle. No module of this
package imports Numba.

- `entries`: entries as bytes, the tables of object files, and the linker and loader of entries,
  mostly without LLVM
- `llvm_text`: a builder of LLVM text for the runtime's own functions
- `store`: the folders of entries, which only this user can write, keys of all inputs of machine
  code, and records of targets

May import `base`, `passes.ir`.
"""
