"""The axis graph: nodes, primitives, the one builder, storages, printer, verifier, evaluator.

What several doors share (joins, merged dimensions, operations on whole operands, the interface that
runs a graph) stands here too. May import `base`, `algebra`, `views`.
"""
