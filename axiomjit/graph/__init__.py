"""The axis graph: nodes, primitives, the one builder, storages, printer, verifier, evaluator.

What several doors share is here too: views that change shapes (`shape_ops.py`), gathers and masks
(`indexing_ops.py`), folds and scans (`reductions.py`), sums of products (`contractions.py`), calls
of NumPy's functions (`external_calls.py`), values that stand for arrays (`traced_values.py`), the
interface that runs a graph (`execution.py`). May import `base`, `symbolic`, `views`.
"""
