"""The text of random functions to take gradients of, written from tables of expressions.

A program works on vectors (V), matrices (M) and numbers (S) of one length n. Each expression is a
text with gaps for others, as `{V} @ {V}`; `{I}` is an index of a loop around it. Values are made
small again as they are written, so that loops stay finite. Statements of `ALONE` have no twin in
JAX, which has no memory.
"""

import random
from typing import NamedTuple

ELEMENTWISE = (
    *("np.tanh({})", "np.sin({})", "np.cos(2 * {})", "np.exp(0.3 * np.tanh({}))", "-{}", "abs({})"),
    *("np.sqrt(1 + {} ** 2)", "np.log(2 + np.tanh({}))", "np.log1p({} ** 2)", "np.arctan({})"),
    *("np.expm1(0.5 * np.sin({}))", "np.exp2(np.tanh({}))", "np.log2(2 + np.sin({}))"),
    *("np.log10(2 + np.sin({}))", "np.cbrt(2 + np.sin({}))", "np.tan(0.5 * np.tanh({}))"),
    *("np.arcsin(0.8 * np.sin({}))", "np.arccos(0.8 * np.sin({}))", "np.arctanh(0.8 * np.sin({}))"),
    *("np.sinh(np.sin({}))", "np.cosh(np.sin({}))", "np.arcsinh({})", "np.arccosh(2 + np.sin({}))"),
    *("1 / (2 + np.sin({}))", "{} - np.floor({} * 0.7)", "{} * np.sign({})", "np.rint({}) * {}"),
    *("np.trunc({}) + {}", "np.ceil({}) * 0.5 + {}", "np.fabs({})", "np.square({})", "({}) ** 3"),
    *("np.maximum({}, 0.2)", "np.fmax({}, {})", "np.fmin({}, -0.1)", "np.clip({}, -0.7, 0.9)"),
    *("np.sqrt(np.maximum({}, 0) + 0.1)", "np.sinc({})", "np.reciprocal(3 + {})"),
    *("{} + {}", "{} - {}", "{} * {}", "{} / (1.5 + np.sin({}))", "np.maximum({}, {})"),
    *("np.minimum({}, {})", "np.hypot({}, 0.5 + {})", "np.arctan2({}, 1.5 + np.sin({}))"),
    *("np.logaddexp({}, {})", "np.logaddexp2({}, 0.5 * {})", "(2 + np.sin({})) ** np.tanh({})"),
    *("np.remainder({}, 2 + np.sin({}))", "np.fmod({}, 1.3)", "np.copysign({}, {})"),
    *("np.where({} > {}, {}, 0.5 * {})", "np.clip({}, np.sin({}) - 2, np.sin({}) + 1)"),
    *("{} // 0.9 + {}", "np.fmod(1 + {}, 2 + np.sin({}))"),
    *(
        "(np.exp(0.3j * {}) * ({} + 0.5j)).real",
        "np.abs({} + 1j * {} + 2)",
        "np.real(np.sqrt(2.5 + 1j * {}))",
    ),
    *("np.imag(np.conj({} + 0.2j) * np.tanh(0.3j * {} + 1))", "({} + 2j * {} + 3).imag"),
)
"""For any type: a gap is an expression of the same type, or now and then a number."""
SPECIAL = (
    *("special.erf({})", "special.erfc({})", "special.expit({})", "special.log_expit({})"),
    *(
        "special.logit(0.5 + 0.4 * np.sin({}))",
        "special.gammaln(2 + np.sin({}))",
        "special.ndtr({})",
    ),
    *("special.gamma(2 + np.sin({}))", "special.psi(2 + np.sin({}))", "special.log_ndtr({})"),
    *(
        "special.ndtri(0.5 + 0.4 * np.sin({}))",
        "special.erfinv(0.8 * np.sin({}))",
        "special.i0({})",
    ),
    *("special.i1({})", "special.j0({})", "special.j1({})", "special.xlogy({}, 2 + np.sin({}))"),
)
"""SciPy's functions, of entire arrays."""
NUMBERS = (
    *("{V}.sum()", "{V}.max()", "np.min({M})", "({V} @ {V})", "np.trace({M})", "{M}.mean()"),
    *(
        "np.linalg.norm({V})",
        "np.linalg.norm({M})",
        "np.prod(1 + 0.2 * np.tanh({V}))",
        "np.std({V})",
    ),
    *("np.log(np.sum(np.exp(np.tanh({V}))))", "np.var({M})", "np.einsum('ij,ij->', {M}, {M})"),
    *(
        "{V}[-1]",
        "{M}[1, 2]",
        "{M}[-1][0]",
        "np.sum(np.where({V} > 0, {V}, 0))",
        "np.vdot({V}, {V})",
    ),
    *("{V}[1:].dot({V}[:-1])", "np.sum({M} * {V}[:, None])", "np.trapezoid({V})", "np.ptp({V})"),
    *("np.linalg.norm({V}, 1)", "np.linalg.norm({V}, np.inf)", "np.average({V}, weights=W)"),
    *("np.max({V}, initial=0.3)", "np.sum({M}, where=MASK)", "np.median({V})", "np.median({M})"),
    *("np.quantile({V}, 0.3)", "np.percentile({V}, 40.0)", "np.nansum({V})", "np.nanmax({V})"),
    *("np.polyval({V}, 0.3)", "np.interp({S}, np.arange(n) * 0.4 - 1, {V})", "{V}[k].prod()"),
)
VECTORS = (
    *(
        "{V}[::-1]",
        "np.roll({V}, 1)",
        "{M}[1]",
        "{M}[:, 0]",
        "{M} @ {V}",
        "{V} @ {M}",
        "{M}.sum(0)",
    ),
    *("{M}.max(axis=1)", "np.min({M}, 0)", "np.prod(1 + 0.2 * np.tanh({M}), axis=1)", "{V} * {S}"),
    *("np.cumsum({V}) * 0.3", "np.cumprod(1 + 0.2 * np.tanh({V}))", "np.maximum.accumulate({V})"),
    *(
        "np.minimum.accumulate({V})",
        "np.where({V} > {S}, {V}, {S} * {V})",
        "{V}[k]",
        "np.sort({V})",
    ),
    *("np.concatenate([{V}[:2], {V}[2:]])", "np.pad({V}, 1, mode='edge')[2:]", "np.diagonal({M})"),
    *("np.pad({V}, (0, 2))[2:]", "np.stack([{V}, {V}])[1]", "np.take({V}, p)", "{V}[p] * {V}"),
    *(
        "np.convolve({V}, {V}[:3], 'same')",
        "np.correlate({V}, {V}[:3], 'same')",
        "np.where(MASK[0], {V}, {S})",
    ),
    *("np.interp({V}, np.arange(n) * 0.5 - 1, {V})", "np.std({M}, axis=0)", "np.var({M}, 1)"),
    *("np.einsum('ij,jk,k->i', {M}, {M}, {V})", "np.einsum('ii->i', {M})", "np.outer({V}, {V})[1]"),
    *(
        "np.sum({M}[:, None] * {V}[:, None], axis=(0, 1))",
        "np.sqrt((({M} - {V}) ** 2).sum(1) + 0.1)",
    ),
    *("{M}[k, p]", "{M}[np.arange(n), k]", "np.take_along_axis({M}, k[:, None], 1)[:, 0]"),
    *(
        "np.repeat({V}, 2)[::2]",
        "np.tile({V}, 2)[1 : n + 1]",
        "{M}.reshape(-1)[1 :: n]",
        "{M}.T.ravel()[:n]",
    ),
    *("np.lib.stride_tricks.sliding_window_view(np.pad({V}, 1), 3).sum(-1)", "np.gradient({V})"),
    *("np.pad({V}, 1, mode='reflect')[2:]", "np.append(np.diff({V}), {S})", "np.flip({V})"),
    *("np.lib.stride_tricks.sliding_window_view(np.pad({V}, 1), 3) @ W[:3]", "np.triu({M}).sum(1)"),
    *("np.linalg.solve(EYE + 0.1 * np.tanh({M}), {V})", "np.linalg.norm({M}, axis=1)"),
    *("np.fft.irfft(np.fft.rfft({V}) * (0.5 + 0.2j), n)", "np.fft.fft({V}).real", "np.ptp({M}, 0)"),
    *("np.fft.ifft({V} + 0.5j * {V}).imag", "np.select([{V} > 0.5, {V} > 0], [{V}, {S}], -{V})"),
    *("np.partition({V}, 2)[2] * {V}", "np.median({M}, axis=1)", "np.quantile({M}, 0.4, axis=0)"),
    *("np.where(u > 0, np.sqrt(u), {V})", "np.where(v > 0.5, np.log(v), u * np.sqrt(v * v + 1))"),
    *(
        "np.broadcast_to({S}, (n,)) * {V}",
        "np.sum({M}, 0, where=MASK)",
        "np.amax({M}, 0, initial=0.2)",
    ),
    *("np.multiply.outer({V}, {V}).sum(0)", "np.cumsum({M}, axis=1)[:, 2]", "({V} > 0.1) * {V}"),
)
MATRICES = (
    *("{M} @ {M}", "{M}.T", "np.outer({V}, {V})", "{M} * {V}", "{M} + {V}[:, None]", "{S} * {M}"),
    *("{M}[::-1, 1:2] * {M}", "np.roll({M}, 1, axis=0)", "np.cumsum({M}, axis=0) * 0.3", "{M}[k]"),
    *(
        "np.cumprod(1 + 0.2 * np.tanh({M}), axis=1)",
        "np.sort({M}, axis=0)",
        "{M}[:, p]",
        "np.tril({M})",
    ),
    *(
        "{V}[:, None] - {V}",
        "np.stack([{V}] * n)",
        "np.concatenate([{M}[:1], {M}[1:]])",
        "np.flip({M}, 1)",
    ),
    *(
        "np.hstack([{M}[:, 1:], {M}[:, :1]])",
        "{M}.reshape(n * n)[::-1].reshape(n, n)",
        "np.where(MASK, {M}, {M}.T)",
    ),
    *(
        "({M} - {M}.mean(1)[:, None]) / (0.5 + np.std({M}, 1)[:, None])",
        "np.maximum.accumulate({M}, 0)",
    ),
    *(
        "np.linalg.inv(EYE + 0.1 * np.tanh({M}))",
        "np.linalg.matrix_power(0.3 * np.tanh({M}), 3)",
        "np.kron({M}, ONE)",
    ),
    *(
        "np.linalg.cholesky(EYE + 0.1 * np.tanh({M}) @ np.tanh({M}).T)",
        "np.einsum('ij,kj->ik', {M}, {M})",
    ),
    *(
        "np.fft.fft2({M}).real",
        "np.fft.irfft2(np.fft.rfft2({M}), (n, n))",
        "np.tensordot({M}, {M}, 1)",
    ),
    *("np.einsum('ij,jk->ki', {M}, {M})", "np.swapaxes({M}, 0, 1)", "np.pad({M}, 1)[:-2, 2:]"),
    *(
        "np.exp(np.tanh({M})) / np.exp(np.tanh({M})).sum(1)[:, None]",
        "np.diag({V})",
        "np.rot90({M})",
    ),
    *(
        "np.subtract.outer({V}, {V}) ** 2",
        "{M}[p[:, None], k]",
        "np.pad({M}, ((0, 1), (0, 0)), mode='wrap')[1:]",
    ),
)
ALGEBRA = {
    "S": (
        *(
            "np.linalg.slogdet(EYE + 0.1 * np.tanh({M}))[1]",
            "np.linalg.det(EYE / 6 + 0.1 * np.tanh({M}))",
        ),
        *(
            "np.linalg.norm({M}, 2)",
            "np.linalg.norm({M}, 'nuc')",
            "np.linalg.multi_dot([{V}, {M}, {V}])",
        ),
    ),
    "V": (
        *("np.linalg.eigvalsh(DIAGONAL + 0.1 * {M})", "np.linalg.svdvals(DIAGONAL + 0.1 * {M})"),
        *(
            "np.linalg.lstsq(DIAGONAL + 0.1 * {M}, {V})[0]",
            "np.linalg.qr(EYE + 0.1 * np.tanh({M}))[1][0]",
        ),
        *(
            "np.linalg.eigh(DIAGONAL + 0.1 * {M})[0]",
            "np.linalg.eigvals(DIAGONAL + 0.1j * {M}).real",
        ),
        *(
            "np.fft.hfft({V} + 0.2j, n)",
            "np.fft.ihfft({V}).real[0] * {V}",
            "np.linalg.eig(DIAGONAL + 0.1j * {M})[0].real",
        ),
    ),
    "M": (
        *(
            "np.linalg.pinv(EYE + 0.1 * np.tanh({M}))",
            "np.linalg.eigh(DIAGONAL + 0.1 * {M})[1] ** 2",
        ),
        *(
            "np.linalg.svd(DIAGONAL + 0.1 * {M}, full_matrices=False)[0] ** 2",
            "np.fft.ifft2({M}).real",
        ),
        *(
            "np.linalg.svd(DIAGONAL + 0.1 * {M})[2] ** 2",
            "np.fft.fftn({M} + 0.3j).imag",
            "np.fft.ifftn({M}).real",
        ),
        *(
            "np.fft.irfftn(np.fft.rfftn({M}), (n, n))",
            "np.linalg.solve(EYE + 0.1 * np.tanh({M}), {M})",
        ),
        *(
            "np.partition({M}, 1, axis=0)[1] * {M}",
            "np.percentile({M}, [20.0, 60.0], axis=1).sum(0) * {M}",
        ),
    ),
}
"""Functions of entire matrices, drawn less often."""
REGIONS = {
    "S": (
        "aj.while_loop(lambda c: abs(c) > 0.2, lambda c: 0.6 * c * np.cos({S}), {S})",
        "aj.cond({S} > {S}, lambda c: {S} * c[0], lambda c: {S} - c.sum(), {V})",
        "aj.fori_loop(0, 3, lambda i, c: np.tanh(c + {S}), {S})",
        "aj.fori_loop(0, 3, lambda i, c: (c[0] + c[1] * {V}, np.sin(c[1])), ({V}, {S}))[1]",
    ),
    "V": (
        "aj.fori_loop(0, 4, lambda i, c: np.tanh(c * {S}) + 0.3 * {V}, {V})",
        "aj.fori_loop(1, n, lambda i, c: 0.5 * c + {V} * x[i], {V})",
        "aj.scan(lambda c, r: (np.tanh(c + r * {S}), c * r), {V}, {M})[0]",
        "aj.cond({S} > {S}, lambda c: {V} * c, lambda c: np.sin(c) + {V}, {V})",
        "aj.grad(lambda c: (c * {V} * c).sum() + np.sin(c[0] * c[1]))({V})",
        "aj.jvp(lambda c: np.sin(c) * {V}, ({V},), ({V},))[1]",
        "aj.fori_loop(0, 3, lambda i, c: aj.cond(c[0] > {S}, lambda d: 0.5 * d, np.cos, c), {V})",
    ),
    "M": (
        "aj.scan(lambda c, r: (0.5 * c + r, np.sin(c) * r + {V}), {V}, {M})[1]",
        "aj.vmap(lambda c: np.tanh(c) * c.sum() + {V})({M})",
        "aj.vmap(aj.grad(lambda c: np.sin(c).sum() * c[1]))({M})",
        "aj.fori_loop(0, 3, lambda i, c: 0.3 * c @ c + np.tanh({M}), {M})",
        "aj.checkpoint(lambda c: np.tanh(c @ c) * {S})({M})",
    ),
}
OWN = {
    "S": ("aj.fold(HYPOT, {V})", "aj.fold('logsumexp', {V})", "TWICE({S})"),
    "V": (
        *("aj.fold(AFFINE, {M}, axes=1)", "aj.fold(PRODUCT, np.tanh({V}) + 1.2, running=True)"),
        *("aj.fold(HYPOT, {M}, axes=0)", "TWICE({V})", "aj.stop_gradient(W) * {V}"),
    ),
    "M": (
        "aj.fold(AFFINE, {M}, axes=1, running=True)",
        "TWICE({M})",
        "np.cumulative_sum({M}, axis=1) * 0.2",
    ),
}
"""Accumulators and derivatives of users: `ALONE`, as JAX has none of these names."""
LEAVES = {
    "S": ("s", "t", "u[0]", "v[-1]", "a[1, 2]", "0.7", "x[1]", "m[0, -1]"),
    "V": ("u", "v", "x", "y", "u", "v", "W"),
    "M": ("a", "m", "a", "b"),
}
IN_LOOP = {
    "S": ("u[{I}]", "v[{I} - 1]", "x[{I}]", "a[{I}, {I} - 1]", "a[{I}, 0]", "u[-{I}]", "x[k[{I}]]"),
    "V": ("a[{I}]", "a[:, {I}]", "m[{I} - 1]", "u * x[{I}]", "v[p]"),
    "M": ("a", "m", "b", "a * x[{I}]"),
}
SLICED = (
    *(
        "(x[{I}:] ** 2).sum()",
        "(a[{I}, :{I}] @ u[:{I}])",
        "v[{I}:].max()",
        "(u[:{I}] * v[:{I}]).sum()",
    ),
    "np.exp(0.1 * a[{I}, {I}:]).sum()",
)
WRITES = (
    *(
        "u[1:] = {V}[:-1]",
        "u[1:] += 0.3 * {V}[:-1]",
        "u[::2] *= {S}",
        "a[1] = {V}",
        "a[:, 0] -= {V}",
    ),
    *("a[1:, :-1] += 0.5 * {M}[:-1, 1:]", "u[p] = {V}", "u[k] -= {V}", "np.add.at(u, k, {V})"),
    *("np.subtract.at(v, k, {V})", "u[u > {S}] = {S}", "v[v < {S}] *= 0.5", "a[a < {S}] = 0.1"),
    *(
        "a[:, p] = {M}",
        "v[:] = {V}",
        "u += 0.5 * {V}",
        "a *= 0.5 + 0.1 * {V}[:, None]",
        "u[1] = {S}",
    ),
    *("a[2, 1] *= {S}", "v[-2:] = {S}", "u[1:-1] = 0.5 * (u[2:] + u[:-2])", "v[1:] = v[:-1] * {S}"),
    *(
        "u, v = v, u * {S}",
        "a[:-1] -= a[1:] * {V}",
        "a[1:, 1:] = 0.3 * a[:-1, :-1] + 0.1",
        "v[::-2] += {S}",
    ),
    *(
        "np.maximum.at(u, k, {V})",
        "np.minimum.at(v, k, {V})",
        "a[np.arange(n), p] = {V}",
        "b = a * {S}",
    ),
)
ALONE = (
    *(
        "u[k] = {V}",
        "a[k, k] = {V}",
        "a[:, k] = {M}",
        "r = a[1]\n    r[1:] += {S}",
        "x[1:] = {V}[1:]",
    ),
    *(
        "np.multiply(u, {V}, out=v)",
        "r = a.T\n    r[0] *= {S}",
        "r = v > {S}\n    u[r] = v[r] ** 2",
    ),
    *(
        "r = u[::-1]\n    r[:2] = {V}[1:3]",
        "m *= 0.5",
        "r = y > {S}\n    y[r] = u[r]",
        "a.flat[3] = {S}",
    ),
    *("np.put(u, [0, 2], {V}[:2])", "np.copyto(v, {V}, where=MASK[1])"),
    *("u.T[...] = {V} * u", "np.sin(u, out=u)", "a[1:] = a[:-1]", "u[:] = u[::-1] * {S}"),
)
ITEMS = (
    *(
        "u[{I}] = {S}",
        "u[{I}] += 0.5 * {S}",
        "v[{I}] = np.tanh(v[{I} - 1]) * {S}",
        "a[{I}, {I}] = {S}",
    ),
    *(
        "a[{I}] = 0.5 * {V}",
        "a[{I}] -= {S} * a[{I} - 1]",
        "a[:, {I}] *= {S}",
        "u[{I}:] += 0.2 * {S}",
    ),
    *("s = 0.5 * s + {S}", "s = np.tanh(s * {S})", "t, s = s, np.sin(t) + {S}", "u[k[{I}]] += {S}"),
    *(
        "v = 0.5 * v + np.tanh({V})",
        "u = np.sin(u) * {S}",
        "a = 0.5 * a + 0.1 * {M}",
        "v[:{I}] *= {S}",
    ),
    *(
        "a[{I}, {I}:] = np.tanh(a[{I}:, {I}])",
        "u[1:] = np.tanh(u[1:] + 0.2 * u[:-1])",
        "v[-{I}] -= {S}",
    ),
    *("v[1:-1] += 0.1 * (v[2:] - 2 * v[1:-1] + v[:-2])", "s = {S} if {S} > {S} else s * 0.5"),
    *(
        "a[{I}:, {I}] -= 0.1 * u[{I}:] * {S}",
        "v[p[{I}]] = {S}",
        "b = 0.3 * b + np.outer(u, v) * {S}",
    ),
)
HEADS = (
    *("for {h} in range(1, n):",) * 3,
    *("for {h} in range(n):", "for {h} in range(n - 1, 0, -1):", "for {h} in range(0, n, 2):"),
    *("for {h}, s in enumerate(x * 0.5):", "for {h}, (s, t) in enumerate(zip(x, y * 0.5)):"),
)
INNER = ("for {h} in range({I}):", "for {h} in range({I}, n):", *HEADS[:4])
JUMPS = ("break", "continue", "continue", "return u, v, a, s")
TEXT = """def program(x, y, m):
    n = x.shape[0]
    u, a, b, s, t = x * 1.0, m * 1.0, m.T * 0.5, x[0] * 0.5, y.sum()
    v = y.copy()
{body}
    return u, v, a, s
"""
SMALL = {"S": "np.tanh({})", "V": "np.sin({})", "M": "0.3 * np.tanh({})"}
INDENT = "    "
TABLES = {"S": NUMBERS, "V": VECTORS, "M": MATRICES}


class Case(NamedTuple):
    """A program: its text, the seed of its point, and True if JAX has it."""

    text: str
    seed: int
    in_jax: bool


class Writing:
    """Writes one program; `in_jax` becomes False with the first statement that JAX has not."""

    def __init__(self, draw):
        self.draw = draw
        self.in_jax = True
        self.indices = []
        self.depth = 0

    def value(self, kind, depth):
        """An expression of a type, with expressions down to a depth."""
        if depth <= 0 or self.draw.random() < 0.15:
            return self.leaf(kind)
        choice = self.draw.random()
        table = TABLES[kind]
        if choice < 0.3:
            table = ELEMENTWISE
        elif choice < 0.35:
            table, self.in_jax = OWN[kind], False
        elif choice < 0.41 and not self.indices:
            table = SPECIAL
        elif choice < 0.47 and not self.indices:
            table = ALGEBRA[kind]
        elif choice < 0.55:
            table = REGIONS[kind]
        return f"({self.filled(self.draw.choice(table), kind, depth)})"

    def leaf(self, kind):
        """A name, an element or a number."""
        if self.indices and self.draw.random() < 0.5:
            table = SLICED if kind == "S" and self.draw.random() < 0.2 else IN_LOOP[kind]
            return self.draw.choice(table).replace("{I}", self.draw.choice(self.indices))
        return self.draw.choice(LEAVES[kind])

    def filled(self, text, kind="S", depth=2):
        """A text with its gaps filled."""
        while True:
            place, gap = min(
                ((text.find(g), g) for g in ("{}", "{S}", "{V}", "{M}", "{I}")), key=_at
            )
            if place < 0:
                return text
            if gap == "{I}":
                new = self.draw.choice(self.indices)
            else:
                new = self.value(kind if gap == "{}" else gap[1], depth - 1)
            text = text[:place] + new + text[place + len(gap) :]

    def simple(self, at):
        """The lines of one statement."""
        if self.indices:
            text = self.filled(self.draw.choice(ITEMS))
        elif self.draw.random() < 0.45:
            name = self.draw.choice("uuvvaaabst")
            kind = {"u": "V", "v": "V", "a": "M", "b": "M"}.get(name, "S")
            text = f"{name} = {SMALL[kind].format(self.value(kind, 3))}"
        elif self.draw.random() < 0.75:
            text = self.filled(self.draw.choice(WRITES))
        else:
            text, self.in_jax = self.filled(self.draw.choice(ALONE)), False
        return [at + line.strip() for line in text.split("\n")]

    def block(self, at):
        """The lines of a body."""
        lines = []
        for _ in range(self.draw.randrange(1, 4)):
            kind = self.draw.random()
            if kind < 0.05:
                lines.append(f"{at}if {self.filled('{S} > 1.5')}:")
                lines.append(at + INDENT + self.draw.choice(JUMPS))
            elif kind < 0.25:
                lines.append(f"{at}if {self.filled('{S} > {S}')}:")
                lines += self.simple(at + INDENT)
                if self.draw.random() < 0.5:
                    lines += [at + "else:", *self.simple(at + INDENT)]
            elif kind < 0.35 and len(self.indices) < 2:
                lines += self.loop(at)
            else:
                lines += self.simple(at)
        return lines

    def loop(self, at):
        """The lines of a loop."""
        name = "ij"[len(self.indices)]
        head = self.draw.choice(INNER if self.indices else HEADS).format(h=name, I="i")
        self.indices.append(name)
        lines = [at + head, *self.block(at + INDENT)]
        self.indices.pop()
        return lines

    def text(self):
        """The text of the module."""
        lines = []
        for _ in range(self.draw.randrange(1, 5)):
            lines += self.loop(INDENT) if self.draw.random() < 0.25 else self.simple(INDENT)
        return TEXT.format(body="\n".join(lines))


def _at(found):
    place, _ = found
    return place if place >= 0 else 10**9


def drawn(seed, number):
    """The program of a number."""
    draw = random.Random(f"gradients {seed}.{number}")
    writing = Writing(draw)
    text = writing.text()
    return Case(text, draw.randrange(2**31), writing.in_jax)


def every_expression():
    """A small program around each expression and statement, none of them drawn."""
    tables = [
        (kind, text)
        for kind in "SVM"
        for table in (TABLES, ALGEBRA, REGIONS, OWN)
        for text in table[kind]
    ]
    tables += [("V", text) for text in (*ELEMENTWISE, *SPECIAL)]
    for number, (kind, text) in enumerate(tables):
        writing = Writing(random.Random(number))
        made = writing.filled(text, kind, 1)
        name = {"S": "s", "V": "u", "M": "a"}[kind]
        alone = text in OWN[kind]
        yield Case(TEXT.format(body=f"{INDENT}{name} = {made}"), number, not alone)
    for text in (*WRITES, *ALONE):
        made = Writing(random.Random(1)).filled(text, "S", 1)
        yield Case(TEXT.format(body=INDENT + made), 1, text in WRITES)
    for text in ITEMS:
        writing = Writing(random.Random(2))
        writing.indices = ["i"]
        body = f"{INDENT}for i in range(1, n):\n{2 * INDENT}{writing.filled(text, 'S', 1)}"
        yield Case(TEXT.format(body=body), 2, True)
