"""The command line, ``twolevel``."""

import os
import signal
import sys
from contextlib import suppress
from types import FrameType
from typing import Final

from bridge.standard_error import keep_standard_streams, say

INTERRUPTED: Final = 130  #: exit code after an interrupt


def _interrupted(number: int, frame: FrameType | None) -> None:
    # While the command line is loaded: nothing has begun, and some imports would swallow an exception.
    say("twolevel: interrupted; nothing was written")
    os._exit(INTERRUPTED)


def command() -> None:
    """Entry point of the ``twolevel`` command: :func:`main`, but an interrupted command waits for no thread of a library."""
    try:
        main()
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(INTERRUPTED)


def main() -> None:
    """Run the command of ``sys.argv``, and exit with its code."""
    keep_standard_streams()
    signal.signal(signal.SIGINT, _interrupted)
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        from bridge.cli.app import main as run
    except ImportError as error:
        # Another package has one of our names, or a library is missing: report it.
        if sys.argv[1:2] == ["doctor"]:
            from bridge.cli.doctor import report

            sys.exit(report())
        say(f"twolevel: {error}; twolevel doctor checks the installation")
        sys.exit(1)
    run()
