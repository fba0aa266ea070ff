"""The project's pages of documentation, and what is in them: links, tables, blocks of code."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "bridge/PROTOCOL.md")),
        *(ROOT / "docs").rglob("*.md"),
    ]
)

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of a kind (``bash``, ``python``) of a page, in order."""
    return [text for found, text in _FENCE.findall(page.read_text(encoding="utf-8")) if found == kind]


def links(page: Path) -> list[str]:
    """The targets of a page's links and pictures."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, made as code hosts make them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def section(page: Path, heading: str) -> str:
    """The text below a heading ``## …``, up to the next one."""
    text = page.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page.name}: no heading {heading}"
    return found[1]


def table(text: str) -> list[list[str]]:
    """The rows of the first table in a text, without its head: the cells of each."""
    found = re.search(r"^\|.*\n\|[-| ]+\|\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert found, "no table"
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in found[1].splitlines()]
