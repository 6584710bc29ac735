"""Write quantities as text with three digits and a unit."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Units = Sequence[tuple[float, str]]
TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
COUNT = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes"))


def digits(value: float) -> str:
    """Return a number as text with three digits or all integer digits, without a power of ten."""
    if value >= 99.95 or value == 0:
        return f"{value:.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.0995 else f"{value:#.2g}"


def seconds(value: float) -> str:
    """Return a time in seconds as text, such as `1.25 ms`."""
    return _scaled(value, TIME)


def count(value: float, unit: str = "") -> str:
    """Return a count or a rate as text, such as `12.5 Gflop/s`."""
    return _scaled(value, COUNT, unit)


def memory(value: float) -> str:
    """Return a number of bytes as text, such as `1.50 MiB`."""
    return _scaled(value, BINARY)


def pace(ratio: float) -> str:
    """Return the speed of a ratio's numerator as text, such as `2.50× faster`."""
    if ratio > 1:
        return f"{digits(ratio)}× slower"
    return f"{digits(1 / ratio)}× faster"


def short(value: float, units: Units, unit: str = "") -> str:
    """Return a round number without trailing zeros for a tick, such as `10 µs`."""
    return _scaled(value, units, unit, lambda number: f"{number:.3g}")


def _scaled(
    value: float, units: Units, unit: str = "", form: Callable[[float], str] = digits
) -> str:
    """Return a number as text in the largest unit that is not larger, or in the smallest unit."""
    fitting = (pair for pair in units if value >= 0.9995 * pair[0])
    factor, prefix = next(fitting, units[-1])
    return f"{form(value / factor)} {prefix}{unit}".rstrip()


def share(value: float) -> str:
    """Return a fraction as text in percent, such as `52 %`."""
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:.2g} %"


def shorten(text: str, most: int) -> str:
    """Return a text cut to `most` letters, with `…` at the end if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"
