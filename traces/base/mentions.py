"""Mentions of options within texts, which each surface spells in its own way.

Code that checks an option knows neither the command line nor who called it. It writes ``f"{RESIZE:none}: needs {MALLEABLE}"``
with declared options (``traces.base.option``), and these format themselves to marks within the text. Where the text is shown,
the marks are spelled: as an option that is typed (``bridge.spelling``), as a keyword in Python, or as a key of a TOML table.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

# Unicode reserves these characters for use within a program, so a text of others has none. A mark is
# _NAME name _KEYWORD keyword _SAID value _GIVEN value _END.
_NAME, _KEYWORD, _SAID, _GIVEN, _END = map(chr, range(0xFDD0, 0xFDD5))


class Mention(NamedTuple):
    """An option that a text mentions."""

    name: str  # its name on the command line, without dashes
    keyword: str  # its name in Python
    said: str = ""  # a value that belongs to the text, as on the command line; empty: none
    # a value that only Python shows, as a literal: of an option that takes none on the command line, or one that the
    # text repeats; empty: none
    given: str = ""

    def __str__(self) -> str:
        return f"{_NAME}{self.name}{_KEYWORD}{self.keyword}{_SAID}{self.said}{_GIVEN}{self.given}{_END}"


#: How a mention is written where a text is shown.
Surface: TypeAlias = Callable[[Mention], str]


def in_python(mention: Mention) -> str:
    """A mention as a keyword, ``resize='none'``."""
    value = mention.given or literal(mention.said)
    return f"{mention.keyword}={value}" if value else mention.keyword


def in_table(mention: Mention) -> str:
    """A mention as a key of a TOML table, ``resize = 'none'``."""
    if mention.given in ("True", "False"):
        return f"{mention.name.removeprefix('no-')} = {mention.given.lower()}"
    quoted = json.dumps(mention.said, ensure_ascii=False) if "'" in mention.said else f"'{mention.said}'"
    return f"{mention.name} = {literal(mention.said, quoted)}" if mention.said else mention.name


def literal(said: str, quoted: str = "") -> str:
    """A value as Python writes it, a number as it is, other words quoted (``quoted``: by others); nothing of none."""
    from traces.base.ranges import parse_real  # whose errors mention options

    try:
        parse_real(said)
    except ValueError:
        return (quoted or repr(said)) if said else ""
    return said


def spelled(text: str, surface: Surface) -> str:
    """The text, in which a surface has spelled all mentions."""
    if _NAME not in text:
        return text
    before, *marked = text.split(_NAME)
    return before + "".join(
        f"{'' if mention is None else surface(mention)}{rest}" for mention, rest in map(_parsed, marked)
    )


def leading(text: str) -> tuple[Mention | None, str]:
    """The mention that a text begins with, and what follows it; None, and the text, where it begins with another word."""
    if not text.startswith(_NAME):
        return None, text
    first, *others = text[1:].split(_NAME)
    mention, rest = _parsed(first)
    return mention, _NAME.join([rest, *others])


def begins_at(text: str, where: str) -> bool:
    """Whether a text begins with ``where``, or with the same option and perhaps a value."""
    place, rest = leading(where)
    if place is None or rest:
        return text.startswith(where)
    mention, _ = leading(text)
    return mention is not None and mention.name == place.name


def with_value(where: str, value: str) -> str:
    """``where`` and a value after it, which belongs to the option if ``where`` is the mention of one."""
    mention, rest = leading(where)
    return f"{where} {value}" if mention is None or rest else str(mention._replace(said=value, given=""))


def with_given(where: str, value: str) -> str:
    """``where``, and the value that was given there, as a literal, if it is the mention of an option that has none yet."""
    mention, rest = leading(where)
    return where if mention is None or mention.given or rest else str(mention._replace(given=value))


def _parsed(marked: str) -> tuple[Mention | None, str]:
    # What follows _NAME, of a text of others perhaps no mark.
    mark, end, rest = marked.partition(_END)
    if not end:
        return None, _NAME + marked
    name, _, values = mark.partition(_KEYWORD)
    keyword, _, values = values.partition(_SAID)
    said, _, given = values.partition(_GIVEN)
    return Mention(name, keyword, said, given), rest
