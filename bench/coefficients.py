"""Coefficients of the elementary functions: `python -m bench.coefficients` writes their table.

`bench.minimax` has the method. With names of tables, only those are computed anew and printed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

from axiomjit.bench.minimax import DIGITS, Target, fit

PLACE = Path(__file__).resolve().parents[1] / "runtime" / "vector_math" / "coefficients.py"
HEAD = '''"""Coefficients of polynomials, lowest power first. Written by bench/coefficients.py."""

Table = dict[str, tuple[float, ...]]
"""The coefficients per precision."""
# fmt: off
'''
IN_A_LINE = 3
HALF_LN2 = mpf("0.34658")
"""A little more than half of log(2)."""
MANTISSAS_LESS_1 = (mpf(-1) / 4, mpf(1) / 2)
QUOTIENT = mpf("0.2001")


TINY = mpf(10) ** -20
"""Below this a quotient is taken to be its limit at 0."""


def _exp_rest(r: Any) -> Any:
    """(exp(r) - 1 - r) / r**2."""
    return mpf(0.5) if abs(r) < TINY else (mp.expm1(r) - r) / r**2


def _exp2_rest(r: Any) -> Any:
    """(2**r - 1) / r."""
    return mp.log(2) if abs(r) < TINY else mp.expm1(r * mp.log(2)) / r


def _atanh_rest(z: Any) -> Any:
    """(log((1 + s) / (1 - s)) - 2 s) / s**3 of z = s**2."""
    s = mp.sqrt(z)
    return mpf(2) / 3 if z < TINY else 2 * (mp.atanh(s) - s) / s**3


def _log1p_rest(f: Any) -> Any:
    """(log(1 + f) - f + f**2 / 2) / f**3."""
    return mpf(1) / 3 if abs(f) < TINY else (mp.log1p(f) - f + f**2 / 2) / f**3


def _inverse_root_of_cube(x: Any) -> Any:
    return mp.cbrt(1 / x)


def _log2_rest(z: Any) -> Any:
    """(log2((1 + s) / (1 - s)) - 2 s / log(2) - 2 s**3 / (3 log(2))) / s**5 of z = s**2."""
    s = mp.sqrt(z)
    if z < TINY:
        return 2 / (5 * mp.log(2))
    return (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5 / mp.log(2)


def _log2_slope(f: Any) -> Any:
    """log2(1 + f) / f."""
    return 1 / mp.log(2) if abs(f) < TINY else mp.log1p(f) / f / mp.log(2)


def _sin_rest(z: Any) -> Any:
    """(sin(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return -mpf(1) / 6 if z < TINY else (mp.sin(s) / s - 1) / z


def _cos_rest(z: Any) -> Any:
    """(cos(s) - 1) / z of z = s**2."""
    return -mpf(1) / 2 if z < TINY else -2 * mp.sin(mp.sqrt(z) / 2) ** 2 / z


def _cos_rest_of_rest(z: Any) -> Any:
    """(cos(s) - 1 + z / 2) / z**2 of z = s**2."""
    return mpf(1) / 24 if z < TINY else (_cos_rest(z) + mpf(1) / 2) / z


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


def _tanh_rest(z: Any) -> Any:
    """(tanh(s) / s - 1) / z of z = s**2."""
    s = mp.sqrt(z)
    return -mpf(1) / 3 if z < TINY else (mp.tanh(s) / s - 1) / z


def _cosh_rest(z: Any) -> Any:
    """(cosh(s) - 1) / z of z = s**2."""
    return mpf(1) / 2 if z < TINY else 2 * mp.sinh(mp.sqrt(z) / 2) ** 2 / z


def _erf_rest(z: Any) -> Any:
    """erf(x) / x - 1 of z = x**2."""
    x = mp.sqrt(z)
    return (2 / mp.sqrt(mp.pi) if z < TINY else mp.erf(x) / x) - 1


def _erfc_scaled(t: Any) -> Any:
    """exp(x**2) erfc(x) (1 + 2 x) of t = (x - 4) / (x + 4)."""
    x = 4 * (1 + t) / (1 - t)
    return mp.exp(x * x) * mp.erfc(x) * (1 + 2 * x)


def _erfc_rest(t: Any) -> Any:
    """(The above - its value at 0) / t, that being held in two parts."""
    return mp.diff(_erfc_scaled, 0) if abs(t) < TINY else (_erfc_scaled(t) - _erfc_scaled(0)) / t


TARGETS: dict[str, Target] = {
    "EXP": Target(_exp_rest, (-HALF_LN2, HALF_LN2), lambda r: r**2, {"f4": 5, "f8": 10}),
    "EXPM1": Target(_exp_rest, (mpf("-0.45"), mpf("0.45")), abs, {"f4": 6, "f8": 11}),
    "EXP2": Target(_exp2_rest, (-0.5, 0.5), lambda r: mpf(1), {"f4": 6, "f8": 11}),
    # 3/4 <= m <= 3/2: s = (m - 1) / (m + 1) up to 1/5
    "LOG_BY_QUOTIENT": Target(_atanh_rest, (0, QUOTIENT**2), lambda z: z, {"f4": 3, "f8": 7}),
    "CBRT": Target(_inverse_root_of_cube, (mpf("0.75"), mpf("1.5")), mp.cbrt, {"f4": 4, "f8": 7}),
    # of powers; those of float32 are computed in float64
    "LOG2": Target(_log2_rest, (0, QUOTIENT**2), lambda z: z**2, {"f8": 9}),
    "LOG2_SHORT": Target(_log2_slope, MANTISSAS_LESS_1, lambda f: 1 / _log2_slope(f), {"f8": 13}),
    "EXP2_SHORT": Target(_exp2_rest, (-0.5, 0.5), lambda r: mpf(1), {"f8": 6}),
    "LOG": Target(_log1p_rest, MANTISSAS_LESS_1, lambda f: f**2, {"f4": 9}),
    "ERF": Target(_erf_rest, (0, mpf("0.25")), lambda z: mpf(1), {"f8": 10}),
    "ERFC": Target(_erfc_rest, (-mpf(35) / 45, mpf(24) / 32), lambda t: abs(t), {"f8": 21}),
    # a little beyond pi / 4, since multiples of pi / 2 are chosen in the precision at hand
    "SIN": Target(_sin_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f4": 3, "f8": 6}),
    "COS": Target(_cos_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f8": 7}),
    "COS_REST": Target(_cos_rest_of_rest, (0, mpf("0.796") ** 2), lambda z: z**2, {"f4": 3}),
    "TAN": Target(_tan_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f8": 14}),
    "TAN_SHORT": Target(_tan_rest, (0, mpf("0.796") ** 2), lambda z: z, {"f8": 7}),
    "LOG1P_SHORT": Target(
        lambda f: _log2_slope(f) * mp.log(2),
        MANTISSAS_LESS_1,
        lambda f: 1 / _log2_slope(f),
        {"f8": 11},
    ),
    # |s| up to tanh(0.587 log(2) / 2)
    "ARCTANH": Target(_arctanh_rest, (0, mpf("0.2009") ** 2), lambda z: z, {"f8": 8}),
    "ARCSIN": Target(_arcsin_rest, (0, mpf("0.25")), lambda z: z, {"f4": 5, "f8": 12}),
    "ARCTAN": Target(_arctan_rest, (0, 1), lambda z: z, {"f4": 9, "f8": 20}),
    "ARCTAN_SHORT": Target(_arctan_rest, (0, 1), lambda z: z, {"f8": 11}),
    "TANH": Target(_tanh_rest, (0, 1), lambda z: z, {"f4": 7}),
    "TANH_NEAR": Target(_tanh_rest, (0, mpf("0.55") ** 2), lambda z: z, {"f8": 11}),
    "SINH": Target(_sinh_rest, (0, mpf(0.25)), lambda z: z, {"f4": 3, "f8": 6}),
    "COSH": Target(_cosh_rest, (0, mpf("0.406") ** 2), lambda z: z, {"f4": 3, "f8": 5}),
}


def table(name: str) -> dict[str, tuple[float, ...]]:
    """The entry of the table with this name."""
    with mp.workdps(DIGITS):
        return {code: fit(TARGETS[name], code)[0] for code in TARGETS[name].counts}


def text(tables: dict[str, dict[str, tuple[float, ...]]]) -> str:
    """The module that holds the tables."""
    lines = [HEAD]
    for name, entry in tables.items():
        lines.append(f"{name}: Table = {{")
        for code, values in entry.items():
            lines.append(f'    "{code}": (')
            for start in range(0, len(values), IN_A_LINE):
                lines.append(f"        {', '.join(map(repr, values[start : start + IN_A_LINE]))},")
            lines.append("    ),")
        lines.append("}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table, or print some of its entries."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *TARGETS])
    names = parser.parse_args().names
    made = text({name: table(name) for name in names or TARGETS})
    if names:
        print(made)
    else:
        PLACE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
