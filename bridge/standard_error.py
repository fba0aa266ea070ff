"""Words for a person: on stderr, where they do not mix with data, and in columns."""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["lined_up", "say", "text_table"]


def say(text: str) -> None:
    """A line of words."""
    print(text, file=sys.stderr)


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
    from traces.base.printable import printable  # texts of others only: where traces cannot be loaded, ours can be said

    return printable(text)
