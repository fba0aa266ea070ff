"""Texts of others in one line of signs that a terminal shows."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""``text`` in one line that cannot steer a terminal: white space is a blank, what has no glyph an escape as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )
