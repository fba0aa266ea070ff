"""Texts of others in one line of signs that a terminal shows."""

from __future__ import annotations

from urllib.parse import quote, unquote

_UNESCAPED = "!\"#$&'()*+,-./:;<=>?@[\\]^_`{|}~"  # the punctuation of ASCII but "%"


def printable(text: str) -> str:
    r"""``text`` in one line that cannot steer a terminal: white space is a blank, what has no glyph an escape as ``\x1b``."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else " " if sign.isspace() else sign.encode("unicode_escape").decode()
        for sign in text
    )


def escaped(text: str, *, apart: str = "") -> str:
    """Return a text as a part of a line from which :func:`unescaped` gets it back.

    It stays as it is if all of it is printable, no blank is at an end and no escape in it. Else it is percent-encoded UTF-8,
    as in addresses: blanks, control characters, letters outside ASCII, and ``%`` itself. Half of a surrogate pair becomes
    ``?``.

    - ``apart``: characters that part the fields of the line: a text with one of them is percent-encoded, too.
    """
    plain = text.isprintable() and text == text.strip() and not set(text) & set(apart) and unescaped(text) == text
    safe = "".join(sign for sign in _UNESCAPED if sign not in apart)
    return text if plain else quote(text, safe=safe, errors="replace")


def unescaped(text: str) -> str:
    """Return the text that :func:`escaped` has made a part of a line."""
    return unquote(text)
