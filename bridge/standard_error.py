"""Words for a person, on stderr, where they do not mix with data."""

from __future__ import annotations

import sys

__all__ = ["say", "say_compiling"]


def say(text: str) -> None:
    """A line of words."""
    print(text, file=sys.stderr)


def say_compiling() -> None:
    """Why nothing happens for a while: kernels are compiled for this machine, once."""
    from traces.compiled import cache_directory, jit_enabled

    if jit_enabled() and sys.stderr.isatty() and not cache_directory().exists():
        say("compiling the kernels for this machine, once; this takes a while")
