"""Texts of others in one line of signs that a terminal shows."""

from __future__ import annotations

from urllib.parse import quote, unquote

__all__ = ["escaped", "printable", "unescaped"]

_PUNCTUATION = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # all of ASCII but "%"


def printable(text: str) -> str:
    r"""``text`` in one line that cannot steer a terminal: white space is a blank, what has no glyph an escape as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )


def escaped(text: str, *, blanks: bool = True) -> str:
    """Return a text as a part of a line from which :func:`unescaped` gets it back.

    It stays as it is if all of it is printable, no blank is at an end and no escape in it. Else it is percent-encoded UTF-8,
    as in addresses: blanks, control characters, letters outside ASCII, and ``%`` itself. Half of a surrogate pair becomes
    ``?``.

    Parameters
    ----------
    text : str
    blanks : bool
        Whether a text with blanks may stay as it is.
    """
    plain = text.isprintable() and text == text.strip() and (blanks or " " not in text) and unescaped(text) == text
    return text if plain else quote(text, safe=_PUNCTUATION, errors="replace")


def unescaped(text: str) -> str:
    """Return the text that :func:`escaped` has made a part of a line."""
    return unquote(text)
