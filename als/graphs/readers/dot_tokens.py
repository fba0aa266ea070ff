"""The words of the DOT language, told apart by one regular expression, one after the other.

Lexical rules: https://graphviz.org/doc/info/lang.html. Stricter than Graphviz, which takes ``1e9`` for 1 and e9, and ``a-1``
for two nodes: words that touch each other are an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from traces.base.errors import InputError, shown

_KEYWORDS = ("strict", "digraph", "graph", "subgraph", "node", "edge")

# Every character beyond ASCII is a letter.
_LETTER = r"A-Za-z_\x80-\U0010ffff"
_WORD = rf"(?:[{_LETTER}][{_LETTER}0-9]*+|-?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?))"
_COMMENT = r"//[^\n]*+|/\*.*?\*/|(?<!\S)\#[^\n]*+"
_SKIP = rf"(?:[ \t\r\n\f\v]++|{_COMMENT})*+"
_STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_TOKEN = re.compile(
    rf"{_SKIP}(?:(?P<word>{_WORD})(?![{_LETTER}0-9.]|-[0-9.])|(?P<string>{_STRING}(?:{_SKIP}\+{_SKIP}{_STRING})*+)"
    r"|(?P<mark>->|--|[][{}=;,:])|(?P<end>\Z)|(?P<other>.))",
    re.DOTALL,
)
_PARTS = re.compile(rf'{_COMMENT}|"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_HTML = re.compile(r"<!--.*?-->|[<>]", re.DOTALL)
_TOUCHING = re.compile(rf"[{_LETTER}0-9.]+(?:-[{_LETTER}0-9.]+)*|-[0-9.][{_LETTER}0-9.]*")

# Kinds of tokens; keywords, in lower case, and marks are kinds of their own.
ID, END = "a name", ""


def _unescaped(escape: re.Match[str]) -> str:
    # A quote, or nothing for the end of a line; other escapes are for whoever draws the graph.
    return {'"': '"', "\n": ""}.get(escape[1], escape[0])


class Tokens:
    """The tokens of a text, of which one is the next. ``kind``: what the next token is: ``ID``, ``END``, a keyword or a
    mark. ``value``: the text of an ``ID``, without its quotes; of an HTML string with its brackets."""

    def __init__(self, text: str, error: Callable[[str, str], InputError]) -> None:
        self._text, self._make_error = text, error
        self._at = self._behind = 0  # where the next token begins, and ends
        self._counted, self._lines = 0, 1  # up to where line ends were counted
        self.kind, self.value = END, ""
        self.next()

    def take_id(self, what: str) -> str:
        """The value of the next token, which must be an ``ID``, and go on; ``what`` it is, for the error."""
        if self.kind != ID:
            raise self.unexpected(what)
        value = self.value
        self.next()
        return value

    def take(self, mark: str) -> None:
        """Go over the next token, which must be of this kind."""
        if self.kind != mark:
            raise self.unexpected(mark)
        self.next()

    def next(self) -> None:
        """Go on by a token."""
        found = _TOKEN.match(self._text, self._behind)
        assert found is not None  # its last choice is any character
        group = found.lastgroup or ""
        self._at, self._behind = found.span(group)
        value = found[group]
        if group == "mark":
            self.kind = value
        elif group == "word":
            word = value.lower()
            self.kind, self.value = word if word in _KEYWORDS else ID, value
        elif group == "string":
            value = value[1:-1]
            if '"' in value or "\\" in value:
                value = _ESCAPE.sub(_unescaped, "".join(_PARTS.findall(found[group])))
            self.kind, self.value = ID, value
        elif group == "end":
            self.kind = END
        elif value == "<":
            self.kind, self.value = ID, self._html()
        else:
            raise self._unreadable(value)

    def _html(self) -> str:
        # From its < to the > that closes it, both included.
        depth = 0
        for mark in _HTML.finditer(self._text, self._at):
            depth += {"<": 1, ">": -1}.get(mark[0], 0)
            if depth == 0:
                self._behind = mark.end()
                return self._text[self._at : self._behind]
        raise self.error("not DOT: an HTML string that does not end; allowed: a > for every <")

    def line(self) -> int:
        """The line of the next token, from 1."""
        self._lines += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._lines

    def error(self, what: str) -> InputError:
        """The error about the next token."""
        return self._make_error(f"line {self.line()}", what)

    def unexpected(self, allowed: str) -> InputError:
        """The error about the next token being there."""
        if self.kind == END:
            return self.error(f"not DOT: the text ends; allowed: {allowed}")
        return self.error(f"not DOT: {shown(self._text[self._at : self._behind])}; allowed: {allowed}")

    def _unreadable(self, character: str) -> InputError:
        if character == '"':
            return self.error('not DOT: a string that does not end; allowed: a second "')
        if self._text.startswith("/*", self._at):
            return self.error("not DOT: a comment that does not end; allowed: */")
        if (touching := _TOUCHING.match(self._text, self._at)) and touching[0] != "-":
            return self.error(
                f"not DOT: {shown(touching[0])} is neither a name nor a number; allowed: in quotes, as numbers with exponents"
            )
        return self.error(f"not DOT: {shown(character)}; allowed: in quotes")
