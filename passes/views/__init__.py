"""Passes that make or change view programs: memory of values, and strides of reads.

`lower_to_views` gives memory to the values that `choose_storage` selects, with dimensions in the
order that `choose_layouts` finds; other values are r-tensors, computed where they are read.
`cut_joins` writes concatenations of many parts piece by piece, so that each kernel is small.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`, `passes.graph`.
"""
