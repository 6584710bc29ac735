"""SHA-256 without OpenSSL, whose import would cost 3 ms in each process that loads a kernel."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import hashlib

try:
    _module: Any = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256")
except ImportError:
    _module = import_module("hashlib")
sha256: Final[Callable[..., hashlib._Hash]] = _module.sha256
