"""axiomjit: array code with named axes, or plain NumPy, as fused loops that touch memory once."""

# ruff: noqa: E402 - the links are checked before anything behind them is imported

from axiomjit._links import check_links as _check_links

_check_links()

from axiomjit.config import config
from axiomjit.counters import stats
from axiomjit.jit import jit

__all__ = ["config", "jit", "stats"]
