"""``python -m bridge.cli``."""

from __future__ import annotations

from bridge.cli import main

if __name__ == "__main__":
    main()
