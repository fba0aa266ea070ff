"""Which format a file's text is of: told by how it begins."""

from __future__ import annotations

import re

from traces.base.errors import shown

#: The formats and what they are written in.
FORMATS = {"wfformat": "WfFormat (JSON)", "dax": "Pegasus DAX (XML)", "graphml": "GraphML (XML)", "dot": "DOT"}

_BOM = b"\xef\xbb\xbf"
_ROOTS = {b"adag": "dax", b"graphml": "graphml"}

# What may stand before the first word.
_XML_SKIP = re.compile(rb"\s+|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_DOT_SKIP = re.compile(rb"\s+|//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_XML_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.-]*:)?([A-Za-z_][\w.-]*)")
_DOT_WORD = re.compile(rb"(?:strict\b|digraph\b|graph\b)", re.IGNORECASE)


def _behind(skip: re.Pattern[bytes], data: bytes, place: int) -> int:
    while found := skip.match(data, place):
        place = found.end()
    return place


def _begin(data: bytes) -> int:
    return len(_BOM) if data.startswith(_BOM) else 0


def _root(data: bytes) -> bytes | None:
    found = _XML_ROOT.match(data, _behind(_XML_SKIP, data, _begin(data)))
    return found[1] if found else None


def format_of(data: bytes) -> str:
    """The format, a key of :data:`FORMATS`, of a file's unpacked bytes; empty: of none."""
    text = _behind(re.compile(rb"\s+"), data, _begin(data))
    match data[text : text + 1]:
        case b"{":
            return "wfformat"
        case b"<":
            return _ROOTS.get(_root(data) or b"", "")
    return "dot" if _DOT_WORD.match(data, _behind(_DOT_SKIP, data, _begin(data))) else ""


def look_of(data: bytes) -> str:
    """What a text looks like that is of no known format: a few words for an error."""
    text = data[_begin(data) :].lstrip()
    if not text:
        return "is empty"
    if text.startswith(b"<") and (root := _root(data)):
        return f"is XML with the root element {shown(root.decode('ascii'))}"
    start = text[:20].decode("utf-8", "replace")
    return f"begins with {shown(start)}"
