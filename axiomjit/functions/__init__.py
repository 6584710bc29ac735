"""The user's functions: their source, their instrumented copies, and the outside that they use.

- `source_text.py`: the syntax tree of a code object, if it compiles to that code
- `scopes.py`: the owner of each name of a function: itself, an enclosing function, the module
- `expressions.py`, `statements.py`: trees in which all that touches the outside calls a hook
- `instrument.py`: copies of functions, compiled from such trees

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `tracing`.
"""
