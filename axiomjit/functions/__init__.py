"""The user's functions: their source, their instrumented copies, and the outside that they use.

- `source_text.py`: the syntax tree of a code object, if it compiles to that code
- `numpy_imports.py`: trees whose imports of NumPy are those of the drop-in
- `scopes.py`: the owner of each name of a function: itself, an enclosing function, the module
- `expressions.py`, `statements.py`, `patterns.py`: trees that call a hook for all outside
- `instrument.py`: copies of functions, compiled from such trees
- `loop_statements.py`, `comprehensions.py`: trees of loops, whose hooks are in `loop_hooks.py` and
  `comprehension_hooks.py`
- `liveness.py`: the names whose values are read behind a statement, which loops carry
- `appended_lists.py`, `list_reads.py`: lists to which loops append, as arrays, and reads of these
- `sources.py`: places from which outside values are read in each call, and guards on them
- `outside.py`: what one trace has read outside, and the overlay of what it would have changed
- `objects.py`, `operators.py`, `calls.py`, `library_calls.py`: what hooks do
- `hooks.py`: the hooks of one copy: reads of its names, and the hooks in the files above
- `known_calls.py`, `libraries.py`: what calls of library functions may change
- `scipy_calls.py`: calls of SciPy's functions as steps of the program
- `row_calls.py`: a function of the user's for each row of an array
- `without_text.py`: functions without text, traced with their own byte code
- `texts.py`: texts of computed values, put together in each call
- `effects.py`: effects on the outside, done after each run of a program

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `tracing`.
"""
