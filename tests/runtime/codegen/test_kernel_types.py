"""Element types have types in kernels."""

import numpy as np
import pytest

from axiomjit.base.dtypes import DTYPES
from axiomjit.base.errors import UnsupportedError
from axiomjit.runtime.codegen.kernel_types import NUMBA_TYPES, kernel_type


def test_each_element_type_has_its_own():
    assert {name: kernel_type(name, dtype) for name, dtype in DTYPES.items()} == NUMBA_TYPES
    assert len(set(NUMBA_TYPES.values())) == len(DTYPES)


def test_an_element_type_without_one_is_named():
    with pytest.raises(UnsupportedError, match="(?s)the row 'f16'.*as HalfType"):
        kernel_type("f16", np.dtype(np.longdouble))
