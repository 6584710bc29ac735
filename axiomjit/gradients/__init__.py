"""Gradients: the adjoint of a graph, as further nodes of the same graph.

The tables stand first: `rules.py` has a row per elementwise primitive, `libraries.py` one per NumPy
function that is called with entire arrays, `folds.py` one per fold and scan. `transposes.py` turns
the reads of an operation around, `structures.py` operations that move elements, and `reverse.py`
walks a graph from its results to its arguments. `marks.py` has the copies that a gradient is taken
by, `regions.py` the adjoints of loops and branches, `kept_values.py` what these keep of each trip,
`recomputing.py` what `checkpoint` computes once more.

A row is a rule, `NO_PATH` (the derivative is zero wherever there is one) or `Refused(reason)`.

- An elementwise primitive: in `ELEMENTWISE` of `rules.py` one partial derivative for each operand,
  a number or a function of the result and the operands, written in NumPy:
  `"tanh": (lambda y, x: 1 - y * y,)`. They are multiplied with the cotangent; for complex numbers
  their conjugates. A primitive that is not holomorphic has a row in `OF_COMPLEX`, too.
- A NumPy function called as a library operation: in `LIBRARY` of `libraries.py` a pullback
  `rule(g, y, *operands, **options)`, where `g` is the cotangent of the result `y`. It returns one
  cotangent for each operand, in the operand's shape, or None. Each family has a table: `LINALG` in
  `decompositions.py`, `FFT` in `transforms.py`, `ORDERS` in `orders.py`.
- A ufunc of SciPy: in `UFUNCS_OF_SCIPY` of `special.py` partial derivatives.

They are functions of `NodeArray`, which records NumPy's functions as nodes. The tests in
`tests/gradients` compare the keys with the primitives and the rules of NumPy.

May import `base`, `symbolic`, `views`, `graph`, `numpy_rules`, `accumulators`.
"""
