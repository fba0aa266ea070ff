"""The command line, ``twolevel``."""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

from bridge.standard_error import keep_standard_streams, say

__all__ = ["main"]


def _interrupted(number: int, frame: FrameType | None) -> None:
    # While the command line is loaded. Nothing has begun, and some imports would not let an exception through.
    say("twolevel: interrupted; nothing was written")
    os._exit(130)


def main() -> None:
    """Entry point of the ``twolevel`` command."""
    keep_standard_streams()
    signal.signal(signal.SIGINT, _interrupted)
    signal.signal(signal.SIGTERM, _interrupted)
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
