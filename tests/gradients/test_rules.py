"""Which primitives have rules, and the conventions: ties, zeros, masks, complex numbers."""

import numpy as np

from axiomjit.gradients.folds import FOLDS, SCANS
from axiomjit.gradients.rules import ELEMENTWISE, NO_PATHS, PARTS, STRUCTURAL, NoPath
from axiomjit.graph.primitives import ACCUMULATORS, BITS_AS, BITS_VIEWS, PRIMITIVES
from tests.gradients.evaluated import gradients_of


def test_every_primitive_has_a_row():
    assert set(PRIMITIVES) == {*ELEMENTWISE, *PARTS, *STRUCTURAL} - {"gather"}
    assert set(FOLDS) == set(SCANS) == set(ACCUMULATORS)


def test_no_path_is_where_the_result_is_no_float_or_does_not_change():
    assert {name for name, row in ELEMENTWISE.items() if isinstance(row, NoPath)} == {
        *NO_PATHS,
        "conjugate",
    }
    assert not {*BITS_AS.values(), *BITS_VIEWS.values()} & set(NO_PATHS)


def test_ties_share_evenly_and_zeros_give_zero():
    one = np.array([1.0, -1.0])
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert [g.tolist() for g in gradients_of(function, one, one)] == [[0.5, 0.5]] * 2
    zero = np.zeros(1)
    assert gradients_of(np.abs, zero)[0] == 0
    assert [g.item() for g in gradients_of(np.hypot, zero, zero)] == [0, 0]
    assert [g.item() for g in gradients_of(np.arctan2, zero, zero)] == [0, 0]
    assert gradients_of(lambda x: np.clip(x, 0.0, 1.0), zero)[0] == 0.5
    assert gradients_of(lambda x: x**0.0, zero)[0] == 0
    assert [g.item() for g in gradients_of(np.power, zero, np.ones(1))] == [1, 0]


def test_zero_stays_zero():
    x = np.array([0.0, 4.0, -1.0])
    root = gradients_of(lambda x: np.where(x > 0, np.sqrt(x), 0), x)[0]
    assert root.tolist() == [0, 0.25, 0]
    twice = gradients_of(lambda x: np.where(x > 0, (s := np.sqrt(x)) + s * s, 0), x)[0]
    assert twice.tolist() == [0, 1.25, 0]
    summed = gradients_of(
        lambda x: np.where(np.sum(x, 1) > 0, np.sum(np.sqrt(x), axis=1), 0), np.zeros((2, 3))
    )[0]
    assert not summed.any()
    part = gradients_of(lambda x: np.sqrt(x)[1:2], x)[0]
    assert part.tolist() == [0, 0.25, 0]
    second = gradients_of(lambda x: np.where(x > 0, np.sqrt(x), 0), x, order=2)[0]
    assert second.tolist() == [0, -0.25 / 8, 0]


def test_zero_stays_zero_in_rows_and_their_sums():
    x, m = np.array([0.0, 4.0, -1.0]), np.ones((3, 2))
    in_rows = gradients_of(lambda x: np.where((x > 0)[:, None], np.sqrt(x)[:, None] * m, 0), x)[0]
    assert in_rows.tolist() == [0, 0.5, 0]
    chosen = gradients_of(lambda x, m: np.where(x > 0, np.sqrt(x), 1.0)[:, None] * m, x, m, order=2)
    assert np.isfinite(chosen[0]).all()
    assert chosen[0].tolist()[::2] == [0, 0]


def test_complex_adjoints_descend():
    generator = np.random.default_rng(0)
    z, w = (generator.normal(size=4) + 1j * generator.normal(size=4) for _ in range(2))

    def check(function):
        node = gradients_of(lambda x: (function(x) * w).real, z)[0]
        step = 1e-6
        real, imag = (
            ((function(z + d) - function(z - d)) * w).real / (2 * step) for d in (step, 1j * step)
        )
        np.testing.assert_allclose(node, real + 1j * imag, rtol=1e-6)

    for function in (np.exp, np.sin, np.sqrt, np.log, np.tanh, np.conj, np.abs, np.square):
        check(function)
    check(lambda x: x.real * 2 + 1j * x.imag)
    check(lambda x: x * np.conj(x) / (1 + x))
