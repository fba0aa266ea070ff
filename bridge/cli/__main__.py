"""``python -m bridge.cli``."""

from __future__ import annotations

from bridge.cli import command

if __name__ == "__main__":
    command()
