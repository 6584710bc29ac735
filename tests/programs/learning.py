"""Machine learning as its authors write it."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softmax_regression(W, b, X, y, lr=0.1, l2=1e-3):
    """One gradient step; W and b are changed."""
    n = X.shape[0]
    probs = softmax(X @ W + b)
    loss = -np.log(probs[np.arange(n), y] + 1e-12).mean() + 0.5 * l2 * np.sum(W * W)
    probs[np.arange(n), y] -= 1
    probs /= n
    W -= lr * (X.T @ probs + l2 * W)
    b -= lr * probs.sum(axis=0)
    return loss


def classes(seed, size):
    rng = np.random.default_rng(seed)
    W, b = 0.1 * rng.standard_normal((8, 4)), np.zeros(4)
    return W, b, rng.standard_normal((size, 8)), rng.integers(0, 4, size)


def layer_norm(x, gamma, beta, eps=1e-5):
    mu = x.mean(-1, keepdims=True)
    var = ((x - mu) ** 2).mean(-1, keepdims=True)
    return gamma * (x - mu) / np.sqrt(var + eps) + beta


def activations(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random((size, 16), dtype=np.float32), np.ones(16, "f4"), np.zeros(16, "f4")


def causal_attention(q, k, v):
    """Heads first: (heads, length, depth)."""
    length = q.shape[-2]
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    hidden = np.triu(np.ones((length, length), dtype=bool), k=1)
    scores = np.where(hidden, -1e9, scores)
    weights = softmax(scores)
    return weights @ v, weights


def heads(seed, size):
    rng = np.random.default_rng(seed)
    return tuple(rng.standard_normal((2, size, 8)) for _ in range(3))


def dict_model(params, grads, state, lr=1e-3, beta1=0.9, beta2=0.999):
    """Adam; parameters, gradients and moments are dicts with the same keys."""
    state["t"] += 1
    t = state["t"]
    for name in params:
        m = beta1 * state["m"][name] + (1 - beta1) * grads[name]
        v = beta2 * state["v"][name] + (1 - beta2) * grads[name] ** 2
        state["m"][name], state["v"][name] = m, v
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        params[name] = params[name] - lr * m_hat / (np.sqrt(v_hat) + 1e-8)
    return sum(np.sum(p**2) for p in params.values())


def parameters(seed, size):
    rng = np.random.default_rng(seed)
    shapes = {"w1": (size, 16), "b1": (16,), "w2": (16, 4), "b2": (4,)}
    zeros = [{k: np.zeros(s) for k, s in shapes.items()} for _ in range(2)]
    made = [{k: rng.standard_normal(s) for k, s in shapes.items()} for _ in range(2)]
    return *made, {"t": 0, "m": zeros[0], "v": zeros[1]}


class Mlp:
    """Two layers, trained by gradient descent with momentum."""

    def __init__(self, n_in, n_hidden, n_out, rng):
        self.W1 = rng.standard_normal((n_in, n_hidden)) / np.sqrt(n_in)
        self.b1 = np.zeros(n_hidden)
        self.W2 = rng.standard_normal((n_hidden, n_out)) / np.sqrt(n_hidden)
        self.b2 = np.zeros(n_out)
        self.velocity = [np.zeros_like(p) for p in (self.W1, self.b1, self.W2, self.b2)]
        self.losses = []

    def forward(self, X):
        self.hidden = np.tanh(X @ self.W1 + self.b1)
        return self.hidden @ self.W2 + self.b2

    def train_step(self, X, y, lr=0.05, momentum=0.9):
        pred = self.forward(X)
        err = pred - y
        loss = (err**2).mean()
        d_out = 2 * err / err.size
        d_hid = (d_out @ self.W2.T) * (1 - self.hidden**2)
        grads = [X.T @ d_hid, d_hid.sum(0), self.hidden.T @ d_out, d_out.sum(0)]
        params = [self.W1, self.b1, self.W2, self.b2]
        for i, (p, g) in enumerate(zip(params, grads, strict=True)):
            self.velocity[i] = momentum * self.velocity[i] - lr * g
            p += self.velocity[i]
        self.losses.append(loss)
        return loss


def network(seed, size):
    rng = np.random.default_rng(seed)
    return Mlp(8, 16, 2, rng), rng.standard_normal((size, 8)), rng.random((size, 2))


class BatchNorm:
    def __init__(self, width, momentum=0.1):
        self.gamma, self.beta = np.ones(width), np.zeros(width)
        self.running_mean, self.running_var = np.zeros(width), np.ones(width)
        self.momentum = momentum
        self.training = True
        self.batches = 0

    def __call__(self, x):
        if x.ndim != 2 or x.shape[1] != self.gamma.shape[0]:
            raise ValueError("wrong shape")
        if self.training:
            mean, var = x.mean(axis=0), x.var(axis=0)
            self.running_mean += self.momentum * (mean - self.running_mean)
            self.running_var += self.momentum * (var - self.running_var)
            self.batches += 1
        else:
            mean, var = self.running_mean, self.running_var
        return self.gamma * (x - mean) / np.sqrt(var + 1e-5) + self.beta


def batch(seed, size):
    return BatchNorm(8), np.random.default_rng(seed).random((size, 8))


def wrong_batch(seed, size):
    return BatchNorm(8), np.ones((size, 7))


def relu_into(x, weights, bias, out):
    """A dense layer into a buffer of the caller."""
    np.matmul(x, weights, out=out)
    np.add(out, bias, out=out)
    np.maximum(out, 0.0, out=out)
    return out


def dense(seed, size):
    rng = np.random.default_rng(seed)
    x, w = rng.standard_normal((size, 8)), rng.standard_normal((8, 16))
    return x, w, rng.random(16), np.empty((size, 16))


def accuracy(scores, labels):
    """The confusion matrix, and the accuracy as a float."""
    predicted = scores.argmax(axis=1)
    n = scores.shape[1]
    matrix = np.zeros((n, n), dtype=int)
    np.add.at(matrix, (labels, predicted), 1)
    return matrix, float((predicted == labels).mean())


def scored(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random((size, 4)), rng.integers(0, 4, size)
