"""Host lists in Slurm's notation: ``n[0-3,7],login``."""

import re
from collections.abc import Iterable
from itertools import product
from math import prod

from traces.base.errors import shown

MAX_HOSTS = 1 << 16  # largest number of hosts in a list: the limit of Slurm 22.05 for one range
_PART = re.compile(r"\[([^]]*)\]")
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_ENDS_IN_DIGITS = re.compile(r"(.*?)([0-9]{1,18})")


def is_plain(name: str) -> bool:
    """Whether a text has only letters, digits and ``_.-``, so that it is a valid name in Slurm's files."""
    return bool(name) and bool(_PLAIN.fullmatch(name))


def _split(text: str) -> list[str]:
    # At commas outside brackets.
    parts, depth = [""], 0
    for character in text:
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part]


def _ranges(text: str) -> list[tuple[int, int, int]]:
    # First, last and width in digits.
    found = []
    for part in text.split(","):
        match = _RANGE.fullmatch(part)
        if match is None or int(match[2] or match[1]) < int(match[1]):
            raise ValueError(f"{shown(part)} is not a number or a range; allowed: e.g. n[0-3,7]")
        found.append((int(match[1]), int(match[2] or match[1]), len(match[1])))
    return found


def _parsed(text: str) -> list[tuple[list[str], list[list[tuple[int, int, int]]]]]:
    # For each part: the texts around the brackets, and the ranges within each pair of them.
    found = []
    for part in _split(text):
        pieces = _PART.split(part)  # alternating text and ranges
        for piece in pieces[::2]:
            if "[" in piece or "]" in piece:
                raise ValueError(f"brackets in {shown(part)}; allowed: e.g. n[0-3,7]")
            if not _PLAIN.fullmatch(piece):
                raise ValueError(f"{shown(piece)} is not a host name; allowed: letters, digits, _, . and -")
        if any("[" in piece for piece in pieces[1::2]):
            raise ValueError(f"brackets within brackets in {shown(part)}; allowed: e.g. n[0-3,7]")
        found.append((pieces[::2], [_ranges(piece) for piece in pieces[1::2]]))
    return found


def counted(text: str) -> int:
    """Number of hosts in a list, without expanding it. Raises ValueError if it is not a host list."""
    return sum(prod(sum(last - first + 1 for first, last, _ in one) for one in ranges) for _, ranges in _parsed(text))


def expanded(text: str, most: int = MAX_HOSTS) -> list[str]:
    """The names of a host list, in its order. Raises ValueError if it is none, or has more than ``most`` hosts.

    >>> expanded("n[08-10,12],login")
    ['n08', 'n09', 'n10', 'n12', 'login']
    """
    count = counted(text)
    if count > most:
        many = f"{count:,}" if count < 10**12 else "more than 10**12"
        raise ValueError(f"{shown(text)} has {many} hosts; allowed: at most {most:,}")
    names = []
    for texts, brackets in _parsed(text):
        choices: list[list[str]] = [[texts[0]]]
        for ranges, after in zip(brackets, texts[1:], strict=True):
            choices.append([f"{n:0{width}}" for first, last, width in ranges for n in range(first, last + 1)])
            choices.append([after])
        names += ["".join(chosen) for chosen in product(*choices)]
    return names


def compressed(names: Iterable[str]) -> str:
    """A host list of names, in their order; consecutive numbers form a range.

    >>> compressed(["n8", "n9", "n10", "n12", "login"])
    'n[8-10,12],login'
    """
    groups: list[tuple[str, list[tuple[str, str]]]] = []
    for name in names:
        found = _ENDS_IN_DIGITS.fullmatch(name)
        prefix, digits = found.groups() if found else (name, "")
        if not digits or not groups or groups[-1][0] != prefix or not groups[-1][1]:
            groups.append((prefix, [(digits, digits)] if digits else []))
            continue
        ranges = groups[-1][1]
        first, last = ranges[-1]
        if digits == str(int(last) + 1).zfill(len(last)):
            ranges[-1] = (first, digits)
        else:
            ranges.append((digits, digits))
    parts = []
    for prefix, ranges in groups:
        text = ",".join(first if first == last else f"{first}-{last}" for first, last in ranges)
        parts.append(f"{prefix}[{text}]" if text and not text.isdigit() else prefix + text)
    return ",".join(parts)
