"""What is said while kernels are compiled."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence

__all__ = ["compiling", "not_kept", "note"]


@contextlib.contextmanager
def compiling(units: Sequence[str]) -> Iterator[None]:
    """Say that these units are compiled."""
    yield


def note(done: int) -> None:
    """So many kernels of the unit are done."""


def not_kept(why: str) -> None:
    """Machine code is not kept; say why, once."""
    print(f"kernels: {why}: compiled again in the next run", file=sys.stderr)
