"""Programs of arrays in blocks: axis classes, stages, and the program of one block.

A graph over entire shapes is classified by axes (`axis_classes.py`), cut where values of several
blocks meet (`stages.py`), and each stage becomes one graph for any block (`block_graphs.py`), which
a task runs (`tasks.py`). Where the blocks come from is left to the caller: `interop` builds Dask
arrays.

- `partitions.py`: how a dimension is cut into blocks, and which part of it a value has
- `moments.py`, `counts.py`, `flattened.py`: variances in one pass, lengths that are not known,
  folds of flattened values
- `refusals.py`: the errors for what no stage can do
- `tokens.py`: SHA-256 of graphs
- `combining.py`: states of blocks, combined and finished
- `report.py`: classes, stages, tasks and bytes as text

May import `base`, `symbolic`, `views`, `graph`.
"""
