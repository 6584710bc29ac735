"""Random specs of label notation, written and read anyhow, against loops over all labels."""

import random

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.notation import Fixed, Label, parse_einsum
from tests.notation.naive import naive

REDUCE = ("sum", "sum", "max", "min", "prod", "mean", "logsumexp")
CHUNK = 25


def axis(rng, labels):
    """The text of an axis: a label, a fixed index, or a window."""
    kind = rng.random()
    if kind < 0.62:
        return rng.choice(labels)
    if kind < 0.7:
        return str(rng.randint(0, 2))
    over, kernel = rng.sample(labels, 2)
    stride, dilation = rng.randint(1, 3), rng.randint(1, 3)
    if kind < 0.76:
        return f"{stride + 1}*{over}+{rng.randint(0, stride)}"
    offset = rng.randint(0, stride - 1)
    shift = f"+{offset}" if offset else ""
    return f"{stride}*{over}{rng.choice('<=')}{shift}+{dilation}*{kernel}"


def length(axis, sizes, rng):
    """A length that an axis may have where labels have these sizes."""
    if isinstance(axis, Label):
        return sizes[axis.name]
    if isinstance(axis, Fixed):
        return axis.index + 1 + rng.randint(0, 1)
    if axis.kernel is None or axis.padded:
        return axis.stride * sizes[axis.over]
    return axis.stride * (sizes[axis.over] - 1) + 1 + axis.dilation * (sizes[axis.kernel] - 1)


def program(seed):
    """A spec, operands, sizes, and how they are combined and reduced."""
    rng = random.Random(seed)
    labels = list("abcd")[: rng.randint(2, 4)]
    count = rng.choice([1, 1, 2, 2, 3])
    slots = [[axis(rng, labels) for _ in range(rng.randint(1, 3))] for _ in range(count)]
    result = [axis(rng, labels) for _ in range(rng.randint(0, 2))]
    # a comma makes each label a name of its own, whatever else is there
    spec = ";".join(",".join(slot) + "," for slot in slots) + "=>" + ",".join(result)
    combine = rng.choice(["mul", "mul", "add", "sub", *(["where"] if count == 3 else [])])
    parsed = parse_einsum(spec)
    sizes = {name: rng.randint(1, 4) for name in parsed.labels}
    values = np.random.default_rng(seed)
    arrays = [
        values.normal(size=[length(one, sizes, rng) for one in slot.in_memory_order(None)])
        for slot in parsed.operands
    ]
    if combine == "where":
        arrays[0] = arrays[0] > 0
    return spec, arrays, sizes, combine, rng.choice(REDUCE)


def check(seed):
    spec, arrays, sizes, combine, reduce = program(seed)
    got = np.asarray(aj.einsum(spec, *arrays, combine=combine, reduce=reduce, sizes=sizes))
    want = naive(spec, arrays, sizes, got.shape, combine, reduce)
    np.testing.assert_allclose(got, want, 1e-9, 1e-9, err_msg=f"{seed}: {spec} {combine} {reduce}")


@pytest.mark.filterwarnings("ignore:divide by zero encountered in log")  # of nothing: -inf
@pytest.mark.parametrize("chunk", range(8))
def test_meaning(chunk, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        check(seed)


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_compiled(seed):
    check(seed)


def test_the_loops_see_a_wrong_value():
    spec, arrays, sizes, combine, reduce = program(3)
    got = np.asarray(aj.einsum(spec, *arrays, combine=combine, reduce=reduce, sizes=sizes))
    arrays[0] = arrays[0] + 1.0
    assert not np.allclose(naive(spec, arrays, sizes, got.shape, combine, reduce), got)
