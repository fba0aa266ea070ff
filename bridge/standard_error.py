"""Words for a person, on stderr, where they do not mix with data."""

from __future__ import annotations

import sys

__all__ = ["say"]


def say(text: str) -> None:
    """A line of words."""
    print(text, file=sys.stderr)
