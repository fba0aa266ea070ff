"""The command ``twolevel``, called within the test's own process: what it wrote where, and how it ended."""

import contextlib
import gc
import io
import logging
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

from bridge.cli import main


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str


@contextlib.contextmanager
def _untouched() -> Iterator[None]:
    # main() is made to have a process of its own: it takes over signals, logging and the looking for garbage.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    log = logging.getLogger("twolevel")
    before, thresholds, unraisable = list(log.handlers), gc.get_threshold(), sys.unraisablehook
    try:
        yield
    finally:
        log.handlers[:] = before
        gc.set_threshold(*thresholds)
        sys.unraisablehook = unraisable
        for number, handler in handlers.items():
            signal.signal(number, handler)


def twolevel(*words: object) -> Ran:
    """Run ``twolevel WORDS…`` in the current folder.

    The progress of the compiler, which only the first process that needs a kernel sees, is not part of its output.
    """
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        _untouched(),
        patch.object(sys, "argv", ["twolevel", *map(str, words)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    assert isinstance(code, int)
    said = err.getvalue().splitlines(keepends=True)
    return Ran(
        code, out.getvalue(), "".join(line for line in said if not line.startswith("compiling for this version"))
    )


def succeeds(*words: object) -> Ran:
    """Run ``twolevel WORDS…``, which ends well."""
    ran = twolevel(*words)
    assert ran.code == 0, ran.err
    return ran


def everything_in(folder: Path) -> dict[str, int]:
    """Every file and folder below a folder, hidden ones too, with the time of its last change (ns); but not what Python keeps
    of a plug-in that it has loaded, unless it is to keep nothing."""
    paths = [path for path in folder.rglob("*") if "__pycache__" not in path.parts]
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in paths}
