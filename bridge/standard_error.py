"""Words for a person: on stderr, where they do not mix with data, and in columns."""

from __future__ import annotations

import sys

__all__ = ["lined_up", "say"]


def say(text: str) -> None:
    """A line of words."""
    print(text, file=sys.stderr)


def lined_up(pairs: list[tuple[str, str]]) -> str:
    """A line for each pair, of a name and what there is to say of it, in two columns."""
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in pairs)
