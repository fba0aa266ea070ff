"""``python -m twolevel`` is the command ``twolevel``; the Python API is ``bridge``."""

from __future__ import annotations

from bridge.cli import main

__all__ = ["main"]


def __dir__() -> list[str]:
    return __all__


if __name__ == "__main__":
    main()
