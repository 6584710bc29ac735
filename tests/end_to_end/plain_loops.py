"""Numeric programs as users write them, with their arguments, for `test_plain_loops.py`.

They are written for Python alone, whether or not their loops can be regions.
"""

import numpy as np

from tests.end_to_end.source_loops import positive


def alternating_directions(u, rate, times):
    n, m = u.shape
    v = np.zeros((n, m))
    p, q = np.zeros(m), np.zeros(m)
    for _ in range(times):
        for i in range(1, n - 1):
            p[0], q[0] = 0.0, u[i, 0]
            for j in range(1, m - 1):
                right = u[i, j] + rate * (u[i - 1, j] - 2.0 * u[i, j] + u[i + 1, j])
                p[j] = rate / (1.0 + 2.0 * rate - rate * p[j - 1])
                q[j] = (right + rate * q[j - 1]) / (1.0 + 2.0 * rate - rate * p[j - 1])
            v[i, m - 1] = u[i, m - 1]
            for j in range(m - 2, 0, -1):
                v[i, j] = p[j] * v[i, j + 1] + q[j]
            v[i, 0] = u[i, 0]
        for j in range(m):
            u[1:-1, j] = v[1:-1, j]
    return u


def matching_bases(bases, least):
    n = bases.shape[0]
    best = np.zeros((n, n), dtype=np.int64)
    for span in range(least + 1, n):
        for i in range(n - span):
            j = i + span
            found = max(best[i + 1, j], best[i, j - 1])
            if bases[i] + bases[j] == 3:
                found = max(found, best[i + 1, j - 1] + 1)
            for k in range(i + 1, j):
                found = max(found, best[i, k] + best[k + 1, j])
            best[i, j] = found
    return best, best[0, n - 1]


def escape_times_by_masks(c, times):
    z = np.zeros_like(c)
    counts = np.zeros(c.shape, dtype=np.int64)
    inside = np.ones(c.shape, dtype=bool)
    for _ in range(times):
        z[inside] = z[inside] * z[inside] + c[inside]
        inside[np.abs(z) > 2.0] = False
        counts[inside] += 1
    return counts


def means_until_still(points, centres):
    centres = centres.copy()
    while True:
        distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = distances.argmin(axis=1)
        new = np.zeros_like(centres)
        for k in range(centres.shape[0]):
            chosen = points[nearest == k]
            new[k] = chosen.mean(axis=0) if len(chosen) else centres[k]
        if np.allclose(new, centres):
            return new, nearest
        centres = new


def means_by_points(points, centres):
    n, dims = points.shape
    count = centres.shape[0]
    labels = np.full(n, -1)
    steps, changed = 0, True
    while changed and steps < 100:
        changed = False
        for p in range(n):
            best, least = 0, np.inf
            for k in range(count):
                d = 0.0
                for a in range(dims):
                    d += (points[p, a] - centres[k, a]) ** 2
                if d < least:
                    best, least = k, d
            if labels[p] != best:
                labels[p] = best
                changed = True
        sums, sizes = np.zeros((count, dims)), np.zeros(count)
        for p in range(n):
            sums[labels[p]] += points[p]
            sizes[labels[p]] += 1
        for k in range(count):
            if sizes[k] > 0:
                centres[k] = sums[k] / sizes[k]
        steps += 1
    return labels, steps


def newton_until_close(a, tolerance):
    x, steps = a, 0
    while abs(x * x - a) > tolerance:
        x = x - (x * x - a) / (2.0 * x)
        steps += 1
        if steps > 100:
            raise ValueError("no convergence")
    return x, steps


def bisection_until_close(coefficients, low, high):
    def polynomial(x):
        value = 0.0
        for c in coefficients:
            value = value * x + c
        return value

    at_low = polynomial(low)
    for steps in range(200):  # noqa: B007
        middle = (low + high) / 2
        at_middle = polynomial(middle)
        if at_middle == 0.0 or high - low < 1e-12:
            break
        if at_low * at_middle < 0:
            high = middle
        else:
            low, at_low = middle, at_middle
    return middle, steps


def wave(u, speed, times):
    before, now, after = u.copy(), u.copy(), np.zeros_like(u)
    for _ in range(times):
        for i in range(1, u.shape[0] - 1):
            after[i] = 2.0 * now[i] - before[i] + speed * (now[i + 1] - 2.0 * now[i] + now[i - 1])
        before, now, after = now, after, before
    return now


def wave_of_a_plate(u, before, speed, times):
    for _ in range(times):
        after = 2.0 * u - before
        after[1:-1, 1:-1] += speed * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4.0 * u[1:-1, 1:-1]
        )
        before, u = u, after
    return u, before


def fields(e, h, times):
    n = e.shape[0]
    for t in range(times):
        for i in range(n - 1):
            h[i] += 0.5 * (e[i + 1] - e[i])
        for i in range(1, n):
            e[i] += 0.5 * (h[i] - h[i - 1])
        e[n // 2] += np.exp(-0.5 * ((t - 6.0) / 2.0) ** 2)
    return e


def fields_of_a_plane(e, hx, hy, times):
    for t in range(times):
        hx[:, :-1] -= 0.5 * (e[:, 1:] - e[:, :-1])
        hy[:-1, :] += 0.5 * (e[1:, :] - e[:-1, :])
        e[1:, 1:] += 0.5 * (hy[1:, 1:] - hy[:-1, 1:] - hx[1:, 1:] + hx[1:, :-1])
        e[3, 4] += np.sin(0.3 * t)
    return e


def bodies(places, speeds, masses, times):
    n = places.shape[0]
    for _ in range(times):
        for i in range(n):
            pull = np.zeros(3)
            for j in range(n):
                if i != j:
                    d = places[j] - places[i]
                    pull += masses[j] * d / (np.sqrt((d * d).sum()) ** 3 + 0.01)
            speeds[i] += 0.01 * pull
        for i in range(n):
            places[i] += 0.01 * speeds[i]
    energy = 0.0
    for i in range(n):
        energy += 0.5 * masses[i] * (speeds[i] @ speeds[i])
    return energy


class Chain:
    """A chain of springs."""

    def __init__(self, x, stiffness):
        self.x = x
        self.v = np.zeros_like(x)
        self.stiffness = stiffness
        self.time = 0.0

    def step(self, dt):
        pull = np.zeros_like(self.x)
        pull[1:-1] = self.stiffness * (self.x[2:] - 2 * self.x[1:-1] + self.x[:-2])
        self.v += dt * pull
        self.x += dt * self.v
        self.time += dt

    def energy(self):
        return 0.5 * np.sum(self.v**2)


def chain_of_springs(x, times):
    chain = Chain(x.copy(), 4.0)
    for _ in range(times):
        chain.step(0.01)
    return chain.x, chain.energy(), chain.time


def smoothed_until_still(u, tolerance):
    u = u.copy()
    change, steps = 1.0, 0
    while change > tolerance:
        old = u.copy()
        u[1:-1] = 0.5 * (old[:-2] + old[2:])
        change = np.linalg.norm(u - old)
        steps += 1
    return u, steps


def chain_of_states(chances, steps, rng):
    sums = np.cumsum(chances, axis=1)
    visits = np.zeros(chances.shape[0], dtype=np.int64)
    state = 0
    for _ in range(steps):
        draw = rng.random()
        new = 0
        while new < chances.shape[0] - 1 and sums[state, new] < draw:
            new += 1
        state = new
        visits[state] += 1
    return visits, state


def chain_by_choice(chances, steps, rng):
    path = np.zeros(steps + 1, dtype=np.int64)
    for t in range(steps):
        path[t + 1] = rng.choice(chances.shape[0], p=chances[path[t]])
    return path


def prefix_sums_in_place(m):
    for i in range(m.shape[0]):
        for j in range(1, m.shape[1]):
            m[i, j] += m[i, j - 1]
    for i in range(1, m.shape[0]):
        m[i] += m[i - 1]
    return m


def histogram_of_values(x, low, high, count):
    made = np.zeros(count, dtype=int)
    for v in x:
        if low <= v < high:
            made[int((v - low) / (high - low) * count)] += 1
    return made


def histogram_in_a_list(x, count):
    made = [0] * count
    for v in x:
        made[int(v * count)] += 1
    return np.array(made)


def windows(x, width):
    n = x.shape[0] - width + 1
    means, largest = np.empty(n), np.empty(n)
    for i in range(n):
        means[i] = x[i : i + width].mean()
        largest[i] = x[i : i + width].max()
    return means, largest


def windows_by_elements(x, width):
    made = []
    total = 0.0
    for i in range(len(x)):
        total += x[i]
        if i >= width:
            total -= x[i - width]
        if i >= width - 1:
            made.append(total / width)
    return np.array(made)


def medians(x, width):
    half = width // 2
    made = x.copy()
    for i in range(half, x.shape[0] - half):
        made[i] = np.median(x[i - half : i + half + 1])
    return made


def cholesky_by_rows(a):
    n = a.shape[0]
    made = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = np.dot(made[i, :j], made[j, :j])
            if i == j:
                made[i, i] = np.sqrt(a[i, i] - s)
            else:
                made[i, j] = (a[i, j] - s) / made[j, j]
    return made


def lu_by_rows(a):
    a = a.copy()
    n = len(a)
    order = np.arange(n)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
            order[[k, p]] = order[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    return a, order


def cholesky_with_checks(a):
    n = a.shape[0]
    assert n > 0
    for j in range(n):
        for k in range(j):
            for i in range(j, n):
                a[i, j] -= a[i, k] * a[j, k]
        if a[j, j] <= 0.0:
            raise np.linalg.LinAlgError(f"not positive definite at {j}")
        pivot = np.sqrt(a[j, j])
        assert np.isfinite(pivot), "not a number"
        for i in range(j, n):
            a[i, j] /= pivot
    return a


def relaxed_in_two_arrays(u, tolerance, most):
    new = u.copy()
    for _ in range(most):
        change = 0.0
        for i in range(1, u.shape[0] - 1):
            new[i] = 0.5 * (u[i - 1] + u[i + 1])
            change = max(change, abs(new[i] - u[i]))
        u, new = new, u
        if change < tolerance:
            break
    return u, change


def relaxed_until_still(u, tolerance):
    new, change, steps = u.copy(), tolerance + 1.0, 0
    while change > tolerance:
        new[1:-1] = 0.5 * (u[:-2] + u[2:])
        change = np.abs(new - u).max()
        u, new = new, u
        steps += 1
    return u, steps


def backward_solve(u, b):
    n = len(b)
    x = np.zeros(n)
    for i in reversed(range(n)):
        x[i] = (b[i] - u[i, i + 1 :] @ x[i + 1 :]) / u[i, i]
    return x


def gram_schmidt_by_columns(a):
    q = np.zeros_like(a)
    r = np.zeros((a.shape[1], a.shape[1]))
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(j):
            r[k, j] = q[:, k] @ v
            v -= r[k, j] * q[:, k]
        r[j, j] = np.linalg.norm(v)
        q[:, j] = v / r[j, j]
    return q, r


def shortest_ways(d):
    d = d.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d


def subsequence_of_texts(a, b):
    before = [0] * (len(b) + 1)
    for x in a:
        row = [0]
        for j, y in enumerate(b):
            row.append(before[j] + 1 if x == y else max(before[j + 1], row[j]))
        before = row
    return before[-1]


def crc_by_table(data):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            if c & np.uint32(1):  # noqa: SIM108
                c = np.uint32(0xEDB88320) ^ (c >> np.uint32(1))
            else:
                c = c >> np.uint32(1)
        table[i] = c
    crc = np.uint32(0xFFFFFFFF)
    for byte in data:
        crc = table[(crc ^ byte) & np.uint32(0xFF)] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)


def escape_times_of_complex(c, times):
    counts = np.zeros(c.shape, dtype=np.int64)
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            z = 0j
            for k in range(times):
                z = z * z + c[i, j]
                if abs(z) > 2.0:
                    break
                counts[i, j] = k + 1
    return counts


def chances(n, seed):
    made = np.random.default_rng(seed).random((n, n))
    return made / made.sum(axis=1, keepdims=True)


def arguments(n, seed=0):
    """Arguments for each program, of about n elements in each direction."""
    draw = np.random.default_rng(seed)
    x, twice, square = draw.random(n), draw.random(2 * n), draw.random((n, n))
    c = draw.random((n, n)) * 4 - 2 + 1j * (draw.random((n, n)) * 4 - 2)
    made = {
        alternating_directions: (draw.random((n, n + 1)), 0.3, 9),
        matching_bases: (draw.integers(0, 4, n), 1),
        escape_times_by_masks: (c[0], 20),
        escape_times_of_complex: (c, 20),
        means_until_still: (draw.random((3 * n, 2)), draw.random((3, 2))),
        means_by_points: (draw.random((3 * n, 2)), draw.random((3, 2))),
        newton_until_close: (2.0 + x[0], 1e-12),
        bisection_until_close: (np.array([1.0, 0.0, -2.0, -5.0]), 1.0, 3.0),
        wave: (x, 0.2, 9),
        wave_of_a_plate: (square, draw.random((n, n)), 0.2, 9),
        fields: (np.zeros(n), np.zeros(n), 12),
        fields_of_a_plane: (np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n)), 12),
        bodies: (draw.random((n, 3)), draw.random((n, 3)), x, 9),
        chain_of_springs: (x, 20),
        smoothed_until_still: (x, 1e-3),
        chain_of_states: (chances(5, seed), 50, np.random.default_rng(seed)),
        chain_by_choice: (chances(5, seed), 50, np.random.default_rng(seed)),
        prefix_sums_in_place: (square,),
        histogram_of_values: (twice, 0.1, 0.9, 7),
        histogram_in_a_list: (twice, 7),
        windows: (twice, 5),
        windows_by_elements: (twice, 5),
        medians: (twice, 5),
        cholesky_by_rows: (positive(n, seed),),
        lu_by_rows: (square,),
        cholesky_with_checks: (positive(n, seed),),
        relaxed_in_two_arrays: (x, 1e-3, 500),
        relaxed_until_still: (x, 1e-3),
        backward_solve: (positive(n, seed), x),
        gram_schmidt_by_columns: (positive(n, seed)[:, : n - 2].copy(),),
        shortest_ways: (square * 10,),
        subsequence_of_texts: (draw.integers(0, 4, n), draw.integers(0, 4, n + 3)),
        crc_by_table: (draw.integers(0, 256, n).astype(np.uint32),),
    }
    return {one.__name__: (one, given) for one, given in made.items()}
