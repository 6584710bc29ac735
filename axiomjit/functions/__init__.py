"""The user's functions: their source, their instrumented copies, and the outside objects they use.

- `source_text.py`: the syntax tree of a code object, if it compiles to that code
- `numpy_imports.py`: trees whose imports of NumPy are those of the drop-in
- `scopes.py`: the owner of each name of a function: itself, an enclosing function, the module
- `expressions.py`, `statements.py`, `patterns.py`: trees in which each use of an outside object is
  a call of a hook
- `instrument.py`: copies of functions, compiled from such trees
- `loop_statements.py`, `comprehensions.py`: trees of loops, whose hooks are in `loop_hooks.py` and
  `comprehension_hooks.py`
- `liveness.py`: the names whose values are read behind a statement, which loops carry
- `appended_lists.py`, `list_reads.py`: arrays in place of lists to which loops append, and reads of
  such lists
- `sources.py`: places from which outside values are read in each call, and guards on them
- `outside.py`: the outside values that a trace has read, and the overlay of changes that it would
  have made
- `objects.py`, `operators.py`, `calls.py`, `library_calls.py`: the work of the hooks
- `hooks.py`: the hooks of one copy: reads of its names, and the hooks in the files above
- `known_calls.py`, `libraries.py`: the objects that calls of library functions may change
- `scipy_calls.py`: calls of SciPy's functions as steps of the program
- `row_calls.py`: calls of a function of the user's for each row of an array
- `without_text.py`: functions without text, traced with their own byte code
- `texts.py`: texts of computed values, put together in each call
- `effects.py`: effects on the outside, done after each run of a program

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `tracing`.
"""
