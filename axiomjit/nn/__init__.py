"""Layers of neural networks, written in label notation.

May import `base`, `notation`.
"""

from axiomjit.nn.images import avg_pool, conv2d, max_pool

__all__ = ["avg_pool", "conv2d", "max_pool"]
