"""Random programs answered natively, by Python behind a guard, and as they were the first time."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.runtime.native_call.native_entry import refusal
from tests.dispatch.lifetimes import CALLS, blocks_left
from tests.generator.budget import budget
from tests.generator.draw import draw
from tests.runtime.codegen.kernels import same_bits

SEED, PROGRAMS = 1500, budget(12)
pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")


def leaves(value):
    return [value] if not isinstance(value, tuple | list) else [x for v in value for x in leaves(v)]


def native(value):
    """The value with bytes in the native order: others run in NumPy."""
    swapped = isinstance(value, np.ndarray) and not value.dtype.isnative
    return value.astype(value.dtype.newbyteorder("=")) if swapped else value


@pytest.mark.parametrize("index", range(PROGRAMS))
def test_later_calls_give_what_the_first_gave(index, monkeypatch):
    program = draw(SEED, index)
    jitted, arguments = aj.jit(program.function()), list(map(native, program.build()))
    monkeypatch.setattr(config, "entry", "portable")
    with np.errstate(all="ignore"):
        first = jitted(*arguments)
        monkeypatch.setattr(config, "entry", "auto")
        for _ in range(4):
            again = jitted(*arguments)
            assert type(again) is type(first)
            for one, other in zip(leaves(again), leaves(first), strict=True):
                assert type(one) is type(other)
                assert same_bits(np.asarray(one), np.asarray(other))
                if isinstance(one, np.ndarray):
                    assert one.strides == other.strides
                    assert one.flags.writeable == other.flags.writeable
        assert blocks_left(lambda: jitted(*arguments)) < CALLS * 0.9
    assert jitted.hits_natively[0]
