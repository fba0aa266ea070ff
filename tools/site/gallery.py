"""The gallery: all pictures of the pages, each with its command.

    python -m tools.site.gallery

writes ``docs/reference/gallery.md`` from the list of ``tools.pictures``. The caption of a picture is that of the page that
shows it. A test checks that every picture of ``docs/images`` is in the list once, and that every command exists
(tests/docs/test_built.py).
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from tools.pictures import PICTURES
from tools.site.pages import DOCS, GROUPS, ROOT

PAGE = DOCS / "reference" / "gallery.md"


_HEAD = """# Gallery

<!-- generated: python -m tools.site.gallery -->
All pictures of the pages. Commands draw the same of your results.
"""

_NAMED = "twolevel figures DIR --only"


def _shown() -> dict[str, tuple[str, Path]]:
    # Picture → (caption, page): pages of the reference come first, pictures before links.
    folders = ["reference", *(name for name in GROUPS if name != "reference"), "."]
    pages = [page for folder in folders for page in sorted((DOCS / folder).glob("*.md")) if page != PAGE]
    pages.append(ROOT / "bridge" / "PROTOCOL.md")
    found: dict[str, tuple[str, Path]] = {}
    for mark in ("!", ""):
        for page in pages:
            for words, name in re.findall(
                rf"{mark}\[([^\]]*)\]\((?:\.\./)?(?:docs/)?images/([^)]+)\)", page.read_text(encoding="utf-8")
            ):
                found.setdefault(name, (words, page))
    return found


def gallery() -> str:
    """The page."""
    shown = _shown()
    lines = [_HEAD]
    for section in PICTURES:
        lines += [f"## {section.heading}", ""]
        by = f"`{section.made_by}`" if re.match("(python|make|twolevel) ", section.made_by) else section.made_by
        plain = section.made_by in ("python -m tools.pictures", "these commands")
        made = [] if plain else [f"Made by {by}."]
        commands = {*filter(None, section.pictures.values())}
        same = len(commands) == 1 < len(section.pictures)
        named = len(commands) > 1 and all(one.startswith(_NAMED) for one in commands)
        made += [f"`{command}` draws them." for command in commands if same] + [f"`{_NAMED} NAME` draws one."] * named
        lines += [" ".join([section.about, *made]).strip(), ""] if section.about or made else []
        for name, command in section.pictures.items():
            words, page = shown[name]
            if len(words.split()) == 1:  # its page has only a link to it
                words = f"{section.heading}: {words.strip('`')}"
            elif clauses := re.match(r"((?:\S+\s+){4,}?\S+?)[,:;]\s", words):
                words = clauses[1]  # the first sentences, with five words or more
            own = "" if same or not command else command.removeprefix(f"{_NAMED} " * named)
            caption = f"[{words}]({os.path.relpath(page, PAGE.parent)})" + (f": `{own}`" if own else "")
            lines += [f"[![{Path(name).stem}](../images/{name})](../images/{name})", "", caption, ""]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(gallery(), encoding="utf-8")
