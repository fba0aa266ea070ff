"""Tools that are run with a few words or none: ``--help`` says what they do, and a word they do not know starts nothing."""

from __future__ import annotations

import argparse

__all__ = ["only"]


def only(text: str | None, *words: str, many: bool = False) -> None:
    """Go on if the command line has nothing but these words; else say what the tool is, and end.

    Parameters
    ----------
    text : str or None
        The tool's docstring.
    *words : str
        What may be said, as ``--tables``.
    many : bool
        Whether other words may follow, which the tool reads itself.
    """
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    for word in words:
        parser.add_argument(word, action="store_true")
    if many:
        parser.add_argument("words", nargs="*")
    parser.parse_args()
