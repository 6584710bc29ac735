"""Steps that NumPy's functions compute, on lines and small matrices made of any array."""

from tests.generator.programs import Step

LINE = "((np.ravel({0}) != 0) * 3 + 1)"
"""Whole numbers from any array, of which sums and products are exact in any order."""
ROWS = f"({LINE}[None] * [[1], [2]])"
SQUARE = f"({LINE}[:1] * 0 + [[2.0, 1.0], [1.0, 3.0]])"
_WHOLE = """
    unique({0})
    unique({0}, return_counts=True)[1]
    unique({0}, return_inverse=True)[1]
    unique_all({0})[1]
    unique_counts({0})[0]
    unique_inverse({0})[0]
    unique_values({0})
    union1d({0}, {0}[:2])
    intersect1d({0}, {0}[:2])
    setdiff1d({0}, {0}[:2])
    setxor1d({0}, {0}[:2])
    isin({0}, {0}[:2])
    sort({0}, kind='stable')
    argsort({0}, stable=True)
    partition({0}, 0)
    argpartition({0}, 0)
    lexsort(({0}.real, {0}.real))
    searchsorted(np.sort({0}), {0})
    diff({0})
"""
_LINE = """
    digitize({0}, [1, 2, 3])
    median({0})
    nanmedian({0})
    percentile({0}, [20, 50])
    quantile({0}, 0.25)
    nanpercentile({0}, 75)
    nanquantile({0}, 0.5)
    histogram({0}, 3, (0, 9))[0]
    histogram_bin_edges({0}, 4, (0, 5))
    interp({0}, [0.0, 1.0, 3.0], [2.0, 0.5, 4.0])
    ediff1d({0})
    trapezoid({0})
    kron({0}[:3], {0}[:4])
    cross({0}[[0, 0, 0]], {0}[[0, -1, 0]])
    convolve({0}, {0}[:3])
    correlate({0}, {0}[:3])
    choose({0} % 2, [{0}, 7])
    select([{0} > 2, {0} > 0], [{0}, {0} * 2], 0)
    linalg.norm({0})
    linalg.vector_norm({0})
    outer({0}, {0}[:2])
    inner({0}, {0})
    vdot({0}, {0})
    linalg.vecdot({0}, {0})
    fft.fft({0})
    fft.ifft({0})
    fft.rfft({0})
    fft.irfft({0}, 4)
    fft.hfft({0}, 4)
    fft.ihfft({0})
    fft.fftshift({0})
    fft.ifftshift({0})
"""
_ROWS = """
    fft.fft2({0})
    fft.ifft2({0})
    fft.rfft2({0})
    fft.irfft2({0}, s=(2, 4))
    fft.fftn({0})
    fft.ifftn({0})
    fft.rfftn({0})
    fft.irfftn({0}, s=(2, 4), axes=(0, 1))
    linalg.matrix_norm({0})
    linalg.matmul({0}, {0}.T)
"""
_SQUARE = """
    linalg.inv({0})
    linalg.det({0})
    linalg.slogdet({0})[1]
    linalg.cholesky({0})
    linalg.eigh({0})[1]
    linalg.eigvalsh({0})
    linalg.eig({0} * 1j)[0]
    linalg.eigvals({0} * 1j)
    linalg.svd({0})[1]
    linalg.svdvals({0})
    linalg.qr({0})[1]
    linalg.solve({0}, {0}[0])
    linalg.lstsq({0}, {0}[1])[0]
    linalg.pinv({0})
    linalg.matrix_rank({0})
    linalg.matrix_power({0}, 2)
    linalg.cond({0})
    linalg.multi_dot([{0}, {0}[0]])
    linalg.tensorinv({0}, 1)
    linalg.tensorsolve({0}, {0}[0])
    tensordot({0}, {0}, 1)
"""


def forms(text, operand):
    """The forms of a list, each with a name that no rule of exactness is about."""
    lines = [line.strip() for line in text.strip().splitlines()]
    return [(f"step {_named(line)}", line.replace("{0}", operand)) for line in lines]


def _named(form):
    """The name of what a form calls; of other forms the form."""
    return form.replace("{0}", "x").partition("(")[0]


FORMS = (
    *forms(_WHOLE, "np.ravel({0})"),
    *forms(_LINE, LINE),
    *forms(_ROWS, ROWS),
    *forms(_SQUARE, SQUARE),
)


def stepped(d, values):
    """A function that NumPy computes."""
    k = values.any()
    if isinstance(values.values[k], int | float | complex) or not values.arrays[k].size:
        return None
    name, form = d.pick(FORMS)
    return Step(name, f"np.{form}", (k,))
