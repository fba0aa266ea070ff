"""A page that has a timeline and nothing else, under a policy as strict as a report's; and what tests ask it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page

from tools.build_page import ASSETS


def timeline_page(text: str) -> str:
    """A page of a packed text."""
    script, style = ((ASSETS / name).read_text() for name in ("page.js", "page.css"))
    allowed = [base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in (script, style)]
    policy = (
        f"default-src 'none'; script-src 'sha256-{allowed[0]}'; style-src 'sha256-{allowed[1]}'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>timeline</title>'
        '<meta name="viewport" content="width=device-width">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><style>{style}</style></head><body>'
        '<div class="timeline" data-timeline="one"></div>'
        f'<script type="application/x-twolevel-columns" id="one">{text}</script><script>{script}</script></body></html>'
    )


@contextmanager
def opened(browser: Browser, folder: Path, text: str, **options: object) -> Iterator[Page]:
    """The page in a browser; afterwards nothing may have been said on its console or been asked of anybody."""
    file = folder / "timeline.html"
    file.write_text(timeline_page(text))
    context = browser.new_context(**options)  # type: ignore[arg-type]
    page = context.new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri())
    page.wait_for_selector(".timeline-stage")
    yield page
    context.close()
    assert said == []
    assert asked == [file.as_uri()]
