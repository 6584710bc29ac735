"""Coefficients and tables of elementary functions.

    python -m tools.elementary.coefficients

The command writes the modules. With names it computes and prints those entries only. `minimax` fits
coefficients; `points` and the modules beside it compute tables.
"""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from tools.elementary.complement_tables import TABLES as COMPLEMENT
from tools.elementary.logarithm_tables import TABLES as LOGARITHMS
from tools.elementary.minimax import DIGITS, Target, fit
from tools.elementary.pieces import TABLES as PIECES
from tools.elementary.points import TABLES as POINTS
from tools.elementary.power_tables import TABLES as POWERS

PLACE = Path(__file__).resolve().parents[2] / "runtime" / "elementary" / "tables.py"
HEAD = '''"""Coefficients of polynomials, lowest power first, and lookup tables.

Written by tools/elementary/coefficients.py.
"""

from axiomjit.runtime.elementary.arithmetic import ByPrecision

# fmt: off
'''
WRAPPER = textwrap.TextWrapper(
    100, initial_indent=" " * 4, subsequent_indent=" " * 8, break_on_hyphens=False
)
HALF_LN2 = mpf("0.34658")
"""A little more than half of log(2)."""
NEAR_1 = (-mpf(1) / 30, mpf(1) / 16)
"""The interval of mantissa * `INVERSE` - 1."""
BY_INVERSE = (-mpf("0.0372"), mpf(1) / 16)
"""The interval of mantissa * `POWER_INVERSE` - 1."""
LOG_COUNTS = {"f4": 4, "f8": 9}


TINY = mpf(10) ** -20
"""Below this a quotient is replaced by its limit at 0."""


def _exp_rest(r: Any) -> Any:
    """(exp(r) - 1 - r) / r**2."""
    return mpf(0.5) if abs(r) < TINY else (mp.expm1(r) - r) / r**2


def _expm1_twice_rest(r: Any) -> Any:
    """(exp(2 r) - 1 - 2 r) / r**2."""
    return 4 * _exp_rest(2 * r)


def _exp2_rest(r: Any) -> Any:
    """(2**r - 1) / r."""
    return mp.log(2) if abs(r) < TINY else mp.expm1(r * mp.log(2)) / r


def _log1p_rest(r: Any) -> Any:
    """(log(1 + r) - r) / r**2."""
    return -mpf(1) / 2 if abs(r) < TINY else (mp.log1p(r) - r) / r**2


def _cbrt_slope(d: Any) -> Any:
    """(cbrt(1 + d) - 1) / d."""
    return mpf(1) / 3 if abs(d) < TINY else (mp.cbrt(1 + d) - 1) / d


def _log1p_rest_of_rest(d: Any) -> Any:
    """(log(1 + d) - d + d**2 / 2) / d**3."""
    return mpf(1) / 3 if abs(d) < TINY else (mp.log1p(d) - d + d**2 / 2) / d**3


def _sin_rest(z: Any) -> Any:
    """(1 - sin(s) / s) / z of z = s**2."""
    s = mp.sqrt(z)
    return mpf(1) / 6 if z < TINY else (1 - mp.sin(s) / s) / z


def _cos_rest(z: Any) -> Any:
    """(cos(s) - 1 + z / 2) / z**2 of z = s**2."""
    return mpf(1) / 24 if z < TINY else (z - 4 * mp.sin(mp.sqrt(z) / 2) ** 2) / (2 * z**2)


def _tan_rest(z: Any) -> Any:
    """(tan(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return mpf(1) / 3 if z < TINY else (mp.tan(s) / s - 1) / z


def _arcsin_rest(z: Any) -> Any:
    """(asin(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return mpf(1) / 6 if z < TINY else (mp.asin(s) / s - 1) / z


def _arctan_rest(z: Any) -> Any:
    """(atan(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return -mpf(1) / 3 if z < TINY else (mp.atan(s) / s - 1) / z


def _sinh_rest(z: Any) -> Any:
    """(sinh(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return mpf(1) / 6 if z < TINY else (mp.sinh(s) / s - 1) / z


def _arctanh_rest(z: Any) -> Any:
    """(atanh(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return mpf(1) / 3 if z < TINY else (mp.atanh(s) / s - 1) / z


def _cosh_rest(z: Any) -> Any:
    """(cosh(s) - 1) / z of z = s**2."""
    return mpf(1) / 2 if z < TINY else 2 * mp.sinh(mp.sqrt(z) / 2) ** 2 / z


def _erf_rest(z: Any) -> Any:
    """erf(x) / x - 1 of z = x**2."""
    x = mp.sqrt(z)
    return (2 / mp.sqrt(mp.pi) if z < TINY else mp.erf(x) / x) - 1


def _log_erfc_rest(x: Any) -> Any:
    """log(erfc(x)) / x + 1."""
    return mp.log(mp.erfc(x)) / x + 1


def _erfc_scaled(t: Any) -> Any:
    """exp(x**2) erfc(x) (1 + 9/8 x) of t = (x - 3) / (x + 3)."""
    x = 3 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 9 * x / 8)


def _erfc_rest(t: Any) -> Any:
    """The quotient (f(t) - f(0)) / t of f, the function above; f(0) is held in two parts."""
    return mp.diff(_erfc_scaled, 0) if abs(t) < TINY else (_erfc_scaled(t) - _erfc_scaled(0)) / t


TARGETS: dict[str, Target] = {
    "EXP": Target(_exp_rest, (-HALF_LN2, HALF_LN2), lambda r: r**2, {"f4": 5, "f8": 10}),
    "EXPM1": Target(_exp_rest, (mpf("-0.45"), mpf("0.45")), abs, {"f4": 6, "f8": 11}),
    "EXP2": Target(_exp2_rest, (-0.5, 0.5), lambda r: mpf(1), {"f4": 6, "f8": 11}),
    "LOG_NEAR_1": Target(_log1p_rest, NEAR_1, abs, LOG_COUNTS),
    "LOG2_NEAR_1": Target(lambda r: _log1p_rest(r) / mp.log(2), NEAR_1, abs, LOG_COUNTS),
    "LOG10_NEAR_1": Target(lambda r: _log1p_rest(r) / mp.log(10), NEAR_1, abs, LOG_COUNTS),
    # a quarter of a binade, relative to its middle
    "CBRT": Target(_cbrt_slope, (-mpf(1) / 9, mpf(1) / 9), abs, {"f4": 5, "f8": 11}),
    "POWER": Target(_log1p_rest_of_rest, BY_INVERSE, lambda d: d**2, {"f4": 4, "f8": 10}),
    "ERF": Target(_erf_rest, (0, mpf("0.96") ** 2), lambda z: mpf(1), {"f8": 12}),
    "ERFC_LOG": Target(_log_erfc_rest, (mpf("0.92"), mpf(6)), lambda x: x * mp.erfc(x), {"f8": 20}),
    "ERFC": Target(_erfc_rest, (-1, mpf(25) / 31), abs, {"f8": 23}),
    # a little beyond pi / 4, since the multiple of pi / 2 is found in working precision
    "SIN": Target(_sin_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f4": 3, "f8": 6}),
    "COS": Target(_cos_rest, (0, mpf("0.796") ** 2), lambda z: z**2, {"f4": 3, "f8": 6}),
    "TAN": Target(_tan_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f4": 7, "f8": 14}),
    # the table of quotients leaves |s| up to 1/10
    "ARCTANH": Target(_arctanh_rest, (0, mpf("0.1") ** 2), lambda z: z, {"f4": 2, "f8": 6}),
    "ARCSIN": Target(_arcsin_rest, (0, mpf("0.25")), lambda z: z, {"f4": 5, "f8": 12}),
    "ARCTAN": Target(_arctan_rest, (0, mpf("0.15") ** 2), lambda z: z, {"f4": 3, "f8": 6}),
    "EXPM1_TWICE": Target(_expm1_twice_rest, (mpf("-0.0035"), mpf("0.3432")), abs, {"f8": 11}),
    "SINH": Target(_sinh_rest, (0, mpf(0.25)), lambda z: z, {"f4": 3, "f8": 6}),
    "COSH": Target(_cosh_rest, (0, mpf("0.406") ** 2), lambda z: z, {"f4": 3, "f8": 5}),
}
SINGLES = PIECES | COMPLEMENT
"""Entries that exist for float32 only."""
TABLES = LOGARITHMS | POINTS | POWERS | SINGLES
NAMES = (*TARGETS, *TABLES)
"""The names of all entries."""


def table(name: str) -> dict[str, tuple[float, ...]]:
    """Return the entry of this name, by dtype."""
    with mp.workdps(DIGITS):
        if name in TABLES:
            codes = ("f4",) if name in SINGLES else ("f4", "f8")
            return {code: TABLES[name](code) for code in codes}
        return {code: fit(TARGETS[name], code)[0] for code in TARGETS[name].counts}


def text(names: Sequence[str]) -> str:
    """Return the source of these entries."""
    lines = []
    for name, entry in ((name, table(name)) for name in names):
        lines.append(f"{name}: ByPrecision = {{")
        for code, values in entry.items():
            lines += WRAPPER.wrap(f'"{code}": ({", ".join(map(repr, values))}),')
        lines.append("}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table, or print some of its entries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES])
    names = parser.parse_args().names
    if names:
        print(text(names))
        return
    PLACE.write_text("\n".join((HEAD, text(NAMES))), encoding="utf-8")


if __name__ == "__main__":
    main()
