"""NumPy with lazy arrays, whose operations are fused: `import axiomjit.numpy as np`.

Operations on lazy arrays are recorded as a segment. When a value is needed, the segment runs as one
compiled function. Mutation, views, types and errors are the same as in NumPy. May import `base`,
`graph`, `functions`, `runtime.codegen`, `runtime.memory`, `dispatch`.
"""

from types import ModuleType
from typing import Any

import numpy as _numpy

from axiomjit.numpy.at_once import ran_at_once as ran_at_once
from axiomjit.numpy.attributes import complete as _complete
from axiomjit.numpy.lazy_arrays import LazyArray as LazyArray
from axiomjit.numpy.namespace import REPLACED as _REPLACED
from axiomjit.numpy.submodules import submodule as _submodule

_complete()
__all__ = list(_numpy.__all__)
__version__ = _numpy.__version__
globals().update(_REPLACED)


def __getattr__(name: str) -> Any:
    found = getattr(_numpy, name)
    if isinstance(found, ModuleType) and found.__name__ == f"numpy.{name}":
        found = _submodule(name)
    if name in __all__:
        globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*dir(_numpy), *(name for name in globals() if name in __all__), "ran_at_once"})
