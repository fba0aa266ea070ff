"""``python -m twolevel`` is the command ``twolevel``; the Python API is ``bridge``."""

from __future__ import annotations

from bridge.cli import command

__all__ = ["command"]


def __dir__() -> list[str]:
    return __all__


if __name__ == "__main__":
    command()
