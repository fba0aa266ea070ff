"""``python -m bridge.cli``."""

from bridge.cli import command

if __name__ == "__main__":
    command()
