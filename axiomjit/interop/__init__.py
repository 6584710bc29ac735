"""Arguments and results of compiled functions that are data of other libraries.

The modules of this package are imported when a call first has data of another library.

- `containers.py`: converts columns, tensors and arrays of pandas, polars, Arrow, torch and JAX
- `labelled.py`: splits DataArrays and Datasets into arrays and labels, and builds them again
- `named_dimensions.py`: `fold`, `einsum` and `elementwise` of DataArrays; conversion to named
  arrays
- `traced_variables.py`: finds and replaces traced data and coordinates
- `xarray_groups.py`: reductions of groups and of resampled times, as grouped folds
- `xarray_calls.py`: traced forms of functions of xarray that ask for values
- `dask_calls.py`: calls with Dask arrays; their stages: `dask_plans.py`, results: `dask_arrays.py`

May import `base`, `symbolic`, `graph`, `numpy_rules`, `axis`, `tracing`, `functions`,
`accumulators`, `notation`, `scale`, `dispatch`.
"""
