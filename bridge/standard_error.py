"""Words for a person: on stderr, where they do not mix with data, and in columns."""

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
    """Write a line of words to stderr; drop it where stderr is closed, full, or has lost its reader.

    Names in it cannot steer a terminal: control characters are escaped.
    It never fails, as it is also called where nobody could handle an error: in callbacks of an event loop, in handlers of
    signals and while a command ends.
    """
    if sys.stderr is not None:  # print would use stdout instead
        with contextlib.suppress(OSError, ValueError):
            print(_one_line(text), file=sys.stderr)


def put(name: object) -> None:
    """Write the name of a file to stdout; where that is a terminal, control characters are escaped."""
    text = str(name)
    print(_one_line(text) if sys.stdout is not None and sys.stdout.isatty() else text)


def put_text(text: str) -> None:
    """Write lines for a person to stdout; control characters of names in them are escaped."""
    print("\n".join(map(_one_line, text.split("\n"))))


class _Words(io.FileIO):
    """Stderr, whose writes succeed: what it does not take is dropped."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            while (written := super().write(data)) is None:  # a terminal that another program made non-blocking
                select.select([], [self], [])
        except OSError:
            return memoryview(data).nbytes
        return written


class _Data(io.FileIO):
    """Stdout, whose errors name it."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            while (written := super().write(data)) is None:
                select.select([], [self], [])
        except OSError as error:
            error.filename = "standard output"
            raise
        return written


def keep_standard_streams() -> None:
    """Make everything that writes to ``sys.stderr`` in this process safe from a stderr that is closed, full or not read.

    Words for a person are no part of a result: a line that cannot be written is dropped, and the exit code stays. Stdout keeps
    its errors. A process calls this once, as it begins; a stream that somebody else has put there stays.
    """
    # A file opened later must not get the number of a closed standard stream: what goes to stderr would go into the file.
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _STDERR:
        os.set_inheritable(opened, True)
    os.close(opened)
    for name, descriptor, kind in (("stdout", _STDOUT, _Data), ("stderr", _STDERR, _Words)):
        before = getattr(sys, name)
        if before is getattr(sys, f"__{name}__"):
            stream = _text(kind(descriptor, "w", closefd=False), before)
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)


def _text(raw: io.FileIO, before: Any) -> io.TextIOWrapper:
    # As Python makes these streams.
    if before is None:  # closed; by now nowhere
        return io.TextIOWrapper(io.BufferedWriter(raw), "utf-8", "backslashreplace", line_buffering=True)
    through = before.write_through
    buffer: Any = raw if through else io.BufferedWriter(raw)
    return io.TextIOWrapper(
        buffer, before.encoding, before.errors, line_buffering=before.line_buffering, write_through=through
    )


def lined_up(pairs: Sequence[tuple[str, str]]) -> str:
    """A line for each pair, of a name and what there is to say of it, in two columns."""
    pairs = [(_one_line(name), _one_line(value)) for name, value in pairs]
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name.ljust(width)}  {value}".rstrip() for name, value in pairs)


def text_table(lines: Sequence[Sequence[str]], left: int = 0) -> str:
    """Lines of cells in columns, of which the first ``left`` begin at the left, and the others end at the right."""
    lines = [[_one_line(cell) for cell in line] for line in lines]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def _one_line(text: str) -> str:
    if text.isprintable():
        return text
    from bridge.spelling import on_command_line
    from traces.base.errors import printable  # texts of others only: where traces cannot be loaded, ours can be said

    return printable(on_command_line(text))
