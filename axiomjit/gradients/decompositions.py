"""The pullbacks of `numpy.linalg`; operands may be stacks of matrices.

A cotangent is the adjoint under Re(conj(a) b). Formulas are those of M. Giles ("An extended
collection of matrix derivative results", 2008), with conjugates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex


def _adjoint(a: Any) -> Any:
    """The conjugate transposes of matrices."""
    return np.conj(a).mT if is_complex(a.dtype) else a.mT


def _inv(g: Any, y: Any, a: Any) -> tuple[Any, ...]:
    turned = _adjoint(y)
    return (-(turned @ g @ turned),)


LINALG: Final[Mapping[Callable[..., Any], Any]] = {
    np.linalg.inv: _inv,
}
