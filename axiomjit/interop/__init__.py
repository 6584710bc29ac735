"""Data of other libraries as arguments and results of compiled functions.

Nothing of it is imported before such data is given.

- `containers.py`: columns, tensors and arrays of pandas, polars, Arrow, torch and JAX as arrays
- `labelled.py`: DataArrays and Datasets as arrays with labels, and built again of both
- `named_dimensions.py`: `fold`, `einsum` and `elementwise` of DataArrays, named arrays of them
- `traced_variables.py`: traced data and coordinates, and other data in their places
- `xarray_groups.py`: reductions of groups and of resampled times as grouped folds
- `xarray_calls.py`: what xarray computes from values, done in ways that can be traced

May import `base`, `symbolic`, `graph`, `numpy_rules`, `axis`, `tracing`, `functions`,
`accumulators`, `notation`, `dispatch`.
"""
