"""External calls: functions and ufuncs of NumPy without a row of the table."""

from tests.generator.programs import NAMESPACE, Step
from tests.generator.steps import LINE, ROWS, forms

_ANY = """
    insert({0}, 1, 3, axis=0)
    delete({0}, 0, axis=-1)
    iscomplex({0})
    isreal({0})
    resize({0}, (2, 3))
    bitwise_count({0})
    packbits({0}, axis=0)
    unpackbits({0}, axis=-1)
    nanargmax({0}, axis=-1)
    piecewise({0}, [{0} > 1, {0} < 0], [2, -1])
    spacing({0})
    nextafter({0}, 2)
    ldexp({0}, 3)
    frexp({0})[0]
    frexp({0})[1]
    modf({0})[1]
    gcd({0}, 12)
    lcm({0}, 3)
    gcd.outer({0}, [2, 6])
"""
"""Each element is computed alone and is exact, so that layouts cannot matter."""
_LINE = """
    unwrap({0})
    vander({0}, 3)
    nancumsum({0})
    polyadd({0}, [1, 2])
    polymul({0}[:4], [1, 2])
    polyder({0})
    geomspace(1, 8, 4) * {0}[0]
    histogram2d({0}, {0}, 2, [(0, 9), (0, 9)])[0]
"""
_ROWS = """
    unwrap({0}, axis=0)
"""
_SPECIAL = """
    expit({0})
    gammaln({0})
    xlogy({0}, 2.0)
    j0({0})
    logit(1 / ({0} + 1))
"""
_SCIPY = """
    linalg.toeplitz({0}[:4])
    linalg.norm({0}, 1)
    linalg.lapack.dgtsv({0}, np.append({0}, 3) + 9, {0}, np.append(2, {0}))[3]
    linalg.blas.ddot({0}, {0})
    signal.lfilter([1.0, 0.5], [2.0, 1.0], {0})
    signal.convolve({0}, {0}[:3])
    ndimage.gaussian_filter1d({0}, 1.0)
    ndimage.median_filter({0}, 3)
    ndimage.label({0} > 1)[0]
    fft.dct({0})
    special.logsumexp({0})
    interpolate.pchip_interpolate([0.0, 2.0, 9.0], [1.0, 3.0, 2.0], {0})
    stats.rankdata({0})
    spatial.distance.cdist({0}[:, None], {0}[:2, None])
"""
FORMS = (*forms(_ANY, "{0}"), *forms(_LINE, LINE), *forms(_ROWS, ROWS))
FORMS = tuple((name, f"np.{form}") for name, form in FORMS)
if "special" in NAMESPACE:
    FORMS += tuple((n, f"scipy.{form}") for n, form in forms(_SCIPY, f"np.float64(1) * {LINE}"))
    FORMS += tuple((n, f"special.{form}") for n, form in forms(_SPECIAL, f"np.float64(1) * {LINE}"))


def external(d, values):
    """A function that the table does not have, of an array of any layout and dtype."""
    name, form = d.pick(FORMS)
    k = values.any()
    if isinstance(values.values[k], int | float | complex) or not values.arrays[k].size:
        return None
    return Step(name, form, (k,))
