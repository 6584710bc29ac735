"""Where arrays lie in memory."""

import numpy as np
import pytest

from axiomjit.runtime.memory import allocation

BASE = np.arange(24.0).reshape(4, 6)
FROZEN = np.arange(5)
FROZEN.flags.writeable = False


@pytest.mark.parametrize(
    "array",
    [
        BASE,
        BASE[1:, 2:],
        BASE[::-1, ::-2],
        BASE.T,
        BASE[2, 3:3],
        np.array(1.5),
        np.broadcast_to(np.float32(2), (3, 4)),
        FROZEN,
        np.frombuffer(b"12345678", np.uint8)[3:],
        np.ma.masked_array([1.0, 2.0], [True, False]),
        np.rec.array([(1, 2.0)], dtype=[("k", "i4"), ("x", "f8")]).x,
    ],
)
def test_addresses_are_numpys(array):
    assert allocation.address(array) == array.__array_interface__["data"][0]
