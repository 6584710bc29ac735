"""Passes that make or change loop programs: nests, order of loops, blocks and scratch memory.

`lower_to_loops` writes one nest per stored value. `fuse_loops` joins nests over the same iteration
space. `order_loops` makes a loop with unit stride the innermost loop. `flip_loops` runs loops over
reversed arrays from their end. `collapse_loops` merges neighbouring loops that read memory without
gaps. `join_moments` computes a long row's mean and the squared distances from the mean in one loop.
`reuse_storages` stores a temporary in the storage that its last reader writes. `estimate_cost`
gives each step its bytes and operations. `cache_rows` stores values of a row that both a reduction
and the reader of its result need. `tile_folds` keeps a tile of accumulators where a reduction runs
across memory. `block_folds` cuts reductions into blocks whose results form a tree, and gives
reductions without a map loop a grid. `center_blocks` computes mean and squared distances of a block
in two loops. `search_blocks` searches only one block for the position of a minimum or maximum.
`interleave_folds` gives lanes to commutative reductions of users. `buffer_rows` holds new values of
an array in a few rows until its old values have been read. `split_scans` shares the blocks of a
long scan among threads. `privatise_scatters` lets threads share a long scatter into small memory,
with a copy of the memory for each block. `limit_loops` shortens loops over windows that reach
beyond an array. `split_regions` gives each part of a padded or concatenated operand a loop of its
own. `strip_mine` splits loops if `estimate_time` says that their parts run faster alone.
`lower_regions` makes one nest of each loop or branch of the program, by the passes over graphs,
views and loops that its body needs. `share_trips` lets threads share the trips of a loop of the
program if they do not depend on each other. `hoist_loads` moves a load before a loop if no trip
writes the loaded element. `prove_positions` checks computed positions before a loop.
`insert_cancellation_checks` lets long loops within a unit poll for cancellation.

May import `base`, `symbolic`, `views`, `graph`, `passes.ir`, `passes.graph`, `passes.views`.
"""
