"""Passes to and over view programs: choose the memory of each value and the strides of each read.

`lower_to_views` gives memory to the values that `choose_storage` selects, with dimensions in the
order that `choose_layouts` finds; other values are r-tensors, computed where they are read.
`cut_joins` writes concatenations of many parts piece by piece, so that each kernel is small.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`, `passes.graph`.
"""
