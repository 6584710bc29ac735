"""Elementary functions, written once and run by two arithmetics: LLVM code and plain NumPy.

`arithmetic` defines the operations of recipes, and has them in NumPy; `codegen.elementary_builtins`
has them in LLVM code. The two arithmetics, LLVM code and plain NumPy, round each operation in the
same way, including fused multiply-add, so a kernel and its plain source give the same bits.
`functions` is the table of recipes. The functions have the same names in the table, in
`codegen.elementary_builtins` and in generated source.

To add a function, first write the recipe `f(m, x)` in the module of similar recipes. A recipe uses
   the operations of the arithmetic `m`, Python's operators, and other recipes. A recipe has no
   branch and no table in memory except tables of `lookup`, and chooses between float32 and float64
   by `m.code`. Secondly, fit the polynomial of the recipe: add a `Target` to
   `tools/elementary/coefficients.py`, then run `python -m tools.elementary.coefficients`, which
   writes `tables.py`.
Thirdly, put the recipe into `functions.RECIPES`, a row for the function into
   `axiomjit/graph/primitives.py` (`_elementary`), and for complex numbers, where NumPy has them, a
   recipe into `complex_functions.py` or a rule into `runtime/codegen/emitters.py`.
Finally, add the range and the reference of the function to `tools/elementary/accuracy_cases.py`, of
   which the tests draw samples. The row of a ufunc of NumPy also makes the function available for
   arrays and tensors; `axiomjit/graph/powers.py` has functions that NumPy lacks.

The tests of rows then compare kernels, plain source and NumPy at special values.

May import `base`.
"""
