"""Data of other libraries as arguments and results of compiled functions.

Nothing of it is imported before such data is given.

- `containers.py`: columns, tensors and arrays of pandas, polars, Arrow, torch and JAX as arrays

May import `base`.
"""
