"""Random choices, fast: a block of uniform numbers of a NumPy generator, used one by one."""

import numpy as np


class Draws:
    """Choices that depend on a seed and an index alone."""

    def __init__(self, *seed):
        self.rng = np.random.default_rng(seed)
        self.rest = []

    def uniform(self):
        """A number from 0 to 1."""
        if not self.rest:
            self.rest = self.rng.random(256).tolist()
        return self.rest.pop()

    def chance(self, probability):
        """Whether something of this probability happens."""
        return self.uniform() < probability

    def below(self, n):
        """An integer from 0 to n - 1."""
        return int(self.uniform() * n)

    def between(self, low, high):
        """An integer from low to high."""
        return low + self.below(high - low + 1)

    def pick(self, items):
        """One of several."""
        return items[int(self.uniform() * len(items))]

    def order(self, items):
        """All of them in another order."""
        items = list(items)
        for k in range(len(items) - 1, 0, -1):
            j = self.below(k + 1)
            items[k], items[j] = items[j], items[k]
        return items

    def some(self, items):
        """At least one of several, in order."""
        chosen = [item for item in items if self.chance(0.5)]
        return chosen or [self.pick(items)]
