"""A fake of Google's Compute Engine API at the HTTP level. ``FakeCompute`` is a context manager with a ``url``."""

from __future__ import annotations

from .script import Answer, Script
from .server import FakeCompute
from .store import Store

__all__ = ["Answer", "FakeCompute", "Script", "Store"]
