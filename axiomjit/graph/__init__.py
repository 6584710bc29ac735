"""The axis graph: nodes, primitives, the builder, storages, printer, verifier, evaluator.

The package also has the parts that front ends share: views that change shapes (`shape_ops.py`),
gathers and masks (`indexing_ops.py`), loops over masks (`selections.py`), reductions and scans
(`reductions.py`), states of groups (`grouped_states.py`), sums of products (`contractions.py`),
calls of NumPy's functions (`external_calls.py`), stand-ins for arrays (`traced_values.py`), the
interface that runs a graph (`execution.py`).

May import `base`, `symbolic`, `views`.
"""
