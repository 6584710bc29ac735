"""Programs of arrays in blocks: axis classes, stages, and the program of one block.

`axis_classes.py` classifies the axes of a graph over entire shapes. `stages.py` cuts the graph into
stages where an operation needs values of several blocks. `block_graphs.py` makes one graph of each
stage, valid for every block, and `tasks.py` runs this graph for one block, or for one strip of it
after the other. The caller provides the blocks: `interop` builds Dask arrays.

- `partitions.py`: partitions of dimensions into blocks, and the parts of dimensions in values
- `moments.py`, `counts.py`, `flattened.py`: variances in one pass, lengths that are not known,
  folds of flattened values
- `groups.py`: folds of groups of labelled elements, and of elements at chosen positions
- `refusals.py`: the errors for operations that no stage can run
- `tokens.py`: SHA-256 of graphs
- `combining.py`: the states of blocks, combined into the result of a fold
- `report.py`: classes, stages, tasks and bytes as text

May import `base`, `symbolic`, `views`, `graph`.
"""
