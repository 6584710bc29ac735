"""A network on digits of scikit-learn in named axes: accuracy, and losses as in JAX."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.transformers import make_transformer

RATE, MOMENTUM = 0.3, 0.9
HIDDEN = 48


def digits():
    """Pixels and one-hot classes for training, pixels and classes for the test."""
    datasets = pytest.importorskip("sklearn.datasets")
    data = datasets.load_digits()
    x, y = data.data / 16.0, data.target
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1437], order[1437:]
    return x[train], np.eye(10)[y[train]], x[test], y[test]


def initial():
    generator = np.random.default_rng(1)
    first = generator.normal(size=(64, HIDDEN)) / 8
    return first, np.zeros(HIDDEN), generator.normal(size=(HIDDEN, 10)) / 7, np.zeros(10)


class Network:
    """Two layers whose axes have names; the gradient is that of the loss by each parameter."""

    def __init__(self, x, t, tested):
        pixels, hidden, classes = aj.make_axes({"pixels": 64, "hidden": HIDDEN, "classes": 10})
        samples, others = aj.make_axes({"samples": len(x), "others": len(tested)})
        axes = [pixels, hidden], [hidden], [hidden, classes], [classes]
        self.parameters = [
            aj.variable(a, initial_value=v) for a, v in zip(axes, initial(), strict=True)
        ]
        first, bias, second, offset = self.parameters

        def scores(inputs):
            return aj.dot(aj.tanh(aj.dot(inputs, first) + bias), second) + offset

        made = scores(aj.constant(x, [samples, pixels]))
        target = aj.constant(t, [samples, classes])
        loss = aj.mean(
            aj.logsumexp(made, reduction_axes=[classes]) - aj.sum(made * target, out_axes=[samples])
        )
        speeds = [aj.variable(a, initial_value=0.0) for a in axes]
        pairs = list(zip(self.parameters, speeds, strict=True))
        steps = [aj.assign(v, MOMENTUM * v + aj.deriv(loss, p)) for p, v in pairs]
        steps += [aj.assign(p, p - RATE * v) for p, v in pairs]
        guessed = aj.argmax(scores(aj.constant(tested, [others, pixels])), reduction_axes=[classes])
        transformer = make_transformer()
        self.loss = transformer.computation(loss)
        self.step = transformer.computation(aj.doall(steps))
        self.classes = transformer.computation(guessed)


def in_jax(x, t, count):
    """The first losses of the same training in JAX."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    jnp = jax.numpy

    def loss(p):
        z = jnp.tanh(x @ p[0] + p[1]) @ p[2] + p[3]
        return (jax.scipy.special.logsumexp(z, axis=1) - (z * t).sum(1)).mean()

    both = jax.jit(jax.value_and_grad(loss))
    parameters, losses = [jnp.asarray(p) for p in initial()], []
    speeds = [jnp.zeros_like(p) for p in parameters]
    for _ in range(count):
        value, gradients = both(parameters)
        losses.append(float(value))
        speeds = [MOMENTUM * v + g for v, g in zip(speeds, gradients, strict=True)]
        parameters = [p - RATE * v for p, v in zip(parameters, speeds, strict=True)]
    return losses


def trained(network, count):
    losses = []
    for _ in range(count):
        losses.append(float(network.loss()))
        network.step()
    return losses


def test_the_network_learns_digits():
    x, t, tested, classes = digits()
    network = Network(x, t, tested)
    losses = trained(network, 75)
    assert losses[-1] < 0.05 * losses[0]
    assert (network.classes() == classes).mean() >= 0.97


def test_losses_are_those_of_jax():
    pytest.importorskip("jax")
    x, t, tested, _ = digits()
    losses = trained(Network(x, t, tested), 50)
    np.testing.assert_allclose(losses, in_jax(x, t, 50), rtol=1e-9)
