"""What doors know of values that stand for arrays while a function is followed."""

from __future__ import annotations


class TracedValue:
    """Stands for an array whose values are not known; by this class other doors tell it."""

    __slots__ = ()
