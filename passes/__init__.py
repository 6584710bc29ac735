"""The passes: from graph to kernels, one file and one verb each, in this order.

A graph says what is computed. `compose_views` makes every read through a transpose, slice or
broadcast a read of what is viewed; `fold_masks` folds over a mask what it chooses;
`order_contractions` chooses the order in which several operands are contracted; `drop_padding`
reads past padding that a fold leaves out, `drop_packs` past copies into C order that nobody needs,
`simplify_algebra` past operations that undo each other; `find_convolutions` finds sums of products
of windows; `save_versions` copies what is read after its storage is written again, in the order of
writes that `order_writes` finds.

A view program says where values are. `lower_to_views` gives storage to what must be stored, which
`choose_storage` decides, in the order of dimensions that `choose_layouts` finds, and leaves the
rest as r-tensors: computed where they are read. `cut_joins` writes joins of many parts piece by
piece, so that each kernel is small.

A loop program says how. `lower_to_loops` writes one nest per stored value; `fuse_loops` joins nests
over the same iteration space; `order_loops` puts unit stride innermost; `flip_loops` runs loops
over reversed arrays from their end; `collapse_loops` makes neighbouring loops one where memory is
walked as one; `join_moments` folds a mean and the squared distances from it in one walk of a long
row; `estimate_cost` counts what each step moves and computes; `keep_rows` keeps what a fold
computes in the row of a result that needs it again; `tile_folds` keeps a tile of states where a
fold runs across memory; `block_folds` cuts folds into blocks whose sums form a tree, and gives
folds without a map loop a grid; `center_blocks` finds the moments of a block in two loops over it;
`search_blocks` finds the place of an extreme in the one block that has it; `interleave_folds` gives
lanes to folds of users that commute; `buffer_rows` lets new values of an array wait in a few rows
until its old ones have been read; `split_scans` lets threads share the blocks of a long scan;
`privatise_scatters` lets them share a long scatter into small memory, of which each block has a
copy; `limit_loops` lets loops end where windows do; `split_regions` gives each part of a padded or
joined operand a loop of its own; `strip_mine` cuts loops whose parts hinder each other, where
`estimate_time` says that this is faster; `watch_loops` lets long loops within a unit look whether
the call was given up.

A plan says in which steps. `make_plan` puts allocation, launches and library calls in order;
`render_source` writes each nest as one readable Python function.

`pipeline` is this page as code; the forms, their printers and verifiers are in `passes.ir`.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`, `passes.costs`.
"""

if __name__ != "axiomjit.passes":
    raise ImportError(
        f"import {__name__}\n"
        "  seen: the folder of axiomjit.passes, whose modules and tables would exist twice\n"
        "  instead: import axiomjit.passes",
        name=__name__,
    )
