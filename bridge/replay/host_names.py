"""Host lists as Slurm writes them: ``n[0-3,7],login``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import product

__all__ = ["compressed", "expanded"]

_PART = re.compile(r"\[([^]]*)\]")
_ENDS_IN_DIGITS = re.compile(r"(.*?)(\d+)")


def _split(text: str) -> list[str]:
    # At commas that are not within brackets.
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def _numbers(text: str) -> list[str]:
    found = []
    for part in text.split(","):
        lo, dash, hi = part.partition("-")
        found += [str(n).zfill(len(lo)) for n in range(int(lo), int(hi) + 1)] if dash else [lo]
    return found


def expanded(text: str) -> list[str]:
    """The names of a host list, in its order.

    Raises
    ------
    ValueError
        If it is none.

    Examples
    --------
    >>> expanded("n[08-10,12],login")
    ['n08', 'n09', 'n10', 'n12', 'login']
    """
    names = []
    for part in _split(text):
        pieces = _PART.split(part)  # text and ranges by turns
        if "[" in "".join(pieces[::2]) or "]" in "".join(pieces[::2]):
            raise ValueError(f"brackets in {part}")
        choices = [[piece] if at % 2 == 0 else _numbers(piece) for at, piece in enumerate(pieces)]
        names += ["".join(chosen) for chosen in product(*choices)]
    return names


def compressed(names: Iterable[str]) -> str:
    """A host list of names, in their order; neighbours that count up are a range.

    Examples
    --------
    >>> compressed(["n8", "n9", "n10", "n12", "login"])
    'n[8-10,12],login'
    """
    groups: list[tuple[str, list[tuple[str, str]]]] = []
    for name in names:
        found = _ENDS_IN_DIGITS.fullmatch(name)
        if found is None:
            groups.append((name, []))
            continue
        prefix, digits = found.groups()
        if not groups or groups[-1][0] != prefix or not groups[-1][1]:
            groups.append((prefix, [(digits, digits)]))
            continue
        ranges = groups[-1][1]
        first, last = ranges[-1]
        if digits == str(int(last) + 1).zfill(len(last)):
            ranges[-1] = (first, digits)
        else:
            ranges.append((digits, digits))
    return ",".join(_group(prefix, ranges) for prefix, ranges in groups)


def _group(prefix: str, ranges: list[tuple[str, str]]) -> str:
    if not ranges:
        return prefix
    words = [first if first == last else f"{first}-{last}" for first, last in ranges]
    return prefix + words[0] if words[0].isdigit() and len(words) == 1 else f"{prefix}[{','.join(words)}]"
