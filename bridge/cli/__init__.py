"""The command line, ``twolevel``."""

from __future__ import annotations

import sys

from bridge.standard_error import say

__all__ = ["main"]


def main() -> None:
    """Entry point of the ``twolevel`` command."""
    try:
        from bridge.cli.app import main as run
    except ImportError as error:
        # Another package has one of our names, or a library is not there: what is wrong can still be said.
        if sys.argv[1:2] == ["doctor"]:
            from bridge.cli.doctor import report

            sys.exit(report())
        say(f"twolevel: {error}; twolevel doctor says what is wrong with the installation")
        sys.exit(1)
    run()
