"""Gradients, computed by the adjoint of a graph; the adjoint consists of further nodes.

The derivative rules are tables: `rules.py` has a row for each elementwise primitive, `libraries.py`
a row for each NumPy function that is called with entire arrays, and `folds.py` a row for each fold
and scan. `transposes.py` has the adjoints of reads by index maps, and `structures.py` the adjoints
of operations that move elements. `reverse.py` walks a graph from its results to its arguments.
`marks.py` makes copies of nodes; gradients are taken with respect to these copies. `regions.py` has
the adjoints of loops and branches, and `kept_values.py` chooses the values of each trip that such
an adjoint keeps. `recomputing.py` computes values a second time, for `checkpoint`.

A row is a rule, `NO_PATH` (the derivative is zero wherever it exists) or `Refused(reason)`.

- The row of an elementwise primitive is in `ELEMENTWISE` of `rules.py`. The row has one partial
  derivative for each operand: a number, or a function of the result and the operands, written in
  NumPy: `"tanh": (lambda y, x: 1 - y * y,)`. The cotangent is multiplied by the partial derivative,
  or by its conjugate if the numbers are complex. A primitive that is not holomorphic also has a row
  in `OF_COMPLEX`.
- The row of a NumPy function called as a library operation is in `LIBRARY` of `libraries.py`. The
  row is a pullback `rule(g, y, *operands, **options)`, where `g` is the cotangent of the result
  `y`. The pullback returns one cotangent for each operand, in the operand's shape, or None. Each
  family of functions has a table: `LINALG` in `decompositions.py`, `FFT` in `transforms.py`,
  `ORDERS` in `orders.py`.
- The row of a ufunc of SciPy is in `UFUNCS_OF_SCIPY` of `special.py`, and has partial derivatives.

Rules are functions of `NodeArray`, which records calls of NumPy's functions as nodes. The tests in
`tests/gradients` compare the keys of the tables with the primitives and with the rules of NumPy.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `accumulators`.
"""
