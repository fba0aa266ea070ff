"""``python -m twolevel`` is the command ``twolevel``; the Python API is ``bridge``."""

from __future__ import annotations

from bridge.cli import main

if __name__ == "__main__":
    main()
