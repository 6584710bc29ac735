"""SHA-256 without OpenSSL, whose import takes 3 ms of each process that loads a kernel."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final, Protocol


class Digest(Protocol):
    """A digest of bytes that come one after the other."""

    def update(self, data: bytes, /) -> None:
        """Take further bytes."""

    def digest(self) -> bytes:
        """The digest of all bytes so far."""

    def hexdigest(self) -> str:
        """The same in hexadecimal."""


def _find() -> Callable[[bytes], Digest]:
    """Python's own SHA-256, as `random` takes its digest; else that of `hashlib`."""
    for module in ("_sha2", "_sha256", "hashlib"):
        try:
            found: Callable[[bytes], Digest] = import_module(module).sha256
        except (ImportError, AttributeError):
            continue
        return found
    raise ImportError("no SHA-256 in this Python")


sha256: Final = _find()
