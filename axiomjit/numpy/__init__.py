"""NumPy, with arrays whose operations fuse: `import axiomjit.numpy as np`.

Arrays are values until somebody looks: a segment of operations is recorded, and runs as one
compiled function when a value is needed. Mutation, views, types and errors are NumPy's.
May import `base`, `graph`, `numpy_rules`, `functions`, `dispatch`.
"""

from typing import Any

import numpy as _numpy

from axiomjit.numpy.lazy_arrays import LazyArray, wrap

ndarray = LazyArray


def __getattr__(name: str) -> Any:
    return getattr(_numpy, name)
