"""Passes over graphs; a graph says which values to compute, and nothing about memory.

`compose_views` turns every read of a transpose, slice or broadcast into a read of the viewed array.
`fold_masks` turns reductions and writes of selected elements into loops over the mask.
`order_contractions` chooses the order in which several operands are contracted. `drop_padding`
bypasses padding that a reduction ignores. `elide_copies` bypasses copies into C order that no
reader needs. `simplify_algebra` removes operations that undo each other. `find_convolutions` finds
sums of products of windows. `order_writes` finds arrays that are read after they are overwritten,
and `save_versions` copies these. `choose_storage` decides which values get memory.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`.
"""
