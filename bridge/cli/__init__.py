"""The command line, ``twolevel``."""

from __future__ import annotations

from bridge.cli.app import main

__all__ = ["main"]
