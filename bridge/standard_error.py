"""Messages for people: on stderr, separate from data, with options as typed on the command line; and tables of text."""

from __future__ import annotations

import contextlib
import io
import os
import select
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_STDOUT, _STDERR = 1, 2


def say(text: str) -> None:
    """Write a line to stderr; drop it if stderr is closed, full, or no longer read.

    Control characters are escaped, so names cannot control a terminal. It never fails: it is also called in callbacks of an
    event loop, in signal handlers and while a command ends, which cannot handle errors.
    """
    if sys.stderr is not None:  # print would use stdout instead
        with contextlib.suppress(OSError, ValueError):
            print(_one_line(text), file=sys.stderr)


def put(name: object) -> None:
    """Write the name of a file to stdout; on a terminal, control characters are escaped."""
    text = str(name)
    print(_one_line(text) if sys.stdout is not None and sys.stdout.isatty() else text)


def put_text(text: str) -> None:
    """Write lines of text to stdout; control characters are escaped."""
    print("\n".join(map(_one_line, text.split("\n"))))


class _Standard(io.FileIO):
    """Stdout, which is named in its errors, or stderr, which drops what it cannot write."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            while (written := super().write(data)) is None:  # a terminal that another program made non-blocking
                select.select([], [self], [])
        except OSError as error:
            if self.fileno() == _STDERR:
                return memoryview(data).nbytes
            error.filename = "standard output"
            raise
        return written


def keep_standard_streams() -> None:
    """Let writes to ``sys.stderr`` in this process succeed if stderr is closed, full or not read.

    Lines that cannot be written are dropped and the exit code stays the same. Stdout keeps its errors. Call this once, when a
    process begins; a stream that other code has installed stays.
    """
    # A file opened later must not get the number of a closed standard stream, or stderr would be written into it.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)
    for name, descriptor in (("stdout", _STDOUT), ("stderr", _STDERR)):
        before = getattr(sys, name)
        if before is getattr(sys, f"__{name}__"):
            stream = _text(_Standard(descriptor, "w", closefd=False), before)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _text(raw: io.FileIO, before: Any) -> io.TextIOWrapper:
    # With the settings of Python's own streams.
    if before is None:  # closed; by now nowhere
        return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)
    through = before.write_through
    buffer: Any = raw if through else io.BufferedWriter(raw)
    lines = before.line_buffering
    return io.TextIOWrapper(buffer, before.encoding, before.errors, line_buffering=lines, write_through=through)


def lined_up(pairs: Sequence[tuple[str, str]]) -> str:
    """Return one line per pair of name and text, in two columns."""
    pairs = [(_one_line(name), _one_line(value)) for name, value in pairs]
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in pairs)


def text_table(lines: Sequence[Sequence[str]], left: int = 0) -> str:
    """Return lines of cells in columns; the first ``left`` columns are left-aligned, others right-aligned."""
    lines = [[_one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligned = [str.ljust if at < left else str.rjust for at in range(len(widths))]
    padded = ([align(cell, n) for align, cell, n in zip(aligned, line, widths, strict=True)] for line in lines)
    return "\n".join("  ".join(cells).rstrip() for cells in padded)


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    from traces.base.errors import printable  # loaded late, so that printable text needs no traces

    return printable(on_command_line(text))


def flag(name: str) -> str:
    """Return ``--resize`` for an option ``resize``; arguments, which have capital letters, are unchanged."""
    return name if name[:1].isupper() else f"--{name}"


def on_command_line(text: str) -> str:
    """Return the text with the options that it mentions (``traces.base.errors``) spelled as they are typed."""
    from traces.base.errors import spelled

    return spelled(text, lambda mention: f"{flag(mention.name)} {mention.said}".rstrip())
