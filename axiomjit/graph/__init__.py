"""The axis graph: nodes, primitives, the one builder, storages, printer, verifier, evaluator.

What several doors share is here too: parts of dimensions, joins, padding, sliding windows,
merged dimensions, operations on whole operands, values that stand for arrays, the interface that
runs a graph. May import `base`, `symbolic`, `views`.
"""
