"""A report page: one HTML file that needs no other file and loads none."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path

from bridge.report.metric_texts import Metric
from bridge.report.parts import MainMetrics, Section, element, text
from traces.base.written_file import write_text

_FRAME_PX = 720  #: height of a page in a notebook

#: A page may only run its own script and style, identified by their hashes, and show its own images.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data: blob:; base-uri 'none'; "
    "form-action 'none'"
)


@dataclass(frozen=True, eq=False)
class Page:
    """A report: ``save(path)`` writes it, and a notebook shows it."""

    kind: str  # ``Run``, ``Study`` …
    title: str
    lead: Sequence[str]  # the findings, in sentences
    main: Sequence[Metric]  # the most important numbers
    sections: Sequence[Section]
    live_s: int = 0  # seconds between reloads; 0: never

    def html(self) -> str:
        """The page as text."""
        script, style = _asset("page.js"), _asset("page.css")
        policy = _POLICY.format(script=_sum(script), style=_sum(style))
        head = (
            '<meta charset="utf-8">'
            f'<meta http-equiv="Content-Security-Policy" content="{text(policy)}">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            f'<meta name="generator" content="twolevel {text(version("twolevel"))}">'
        )
        head += element("title", text(f"{self.title} · {self.kind.lower()} · twolevel")) + element("style", style)
        links = (element("li", element("a", text(one.title), href=f"#{one.name}")) for one in self.sections)
        body = [
            element("a", "Skip to the results", href="#results", class_="skip"),
            self._header(),
            element("nav", element("ul", *links), aria_label="Parts of this page"),
            element("main", *(one.html() for one in self.sections), id="results"),
            element("footer", text(f"Written by twolevel {version('twolevel')}. The page needs no network.")),
            element("script", script),
        ]
        return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{"".join(body)}</body></html>\n'

    @property
    def left_out(self) -> list[str]:
        """Sentences that state what sections of the page omit, without repetitions."""
        return list(dict.fromkeys(one.left_out for one in self.sections if one.left_out))

    def _header(self) -> str:
        over = element("p", text(f"twolevel · {self.kind}")) + element("div", data_theme_switch=True)
        lead = "".join(element("p", text(one), class_="lead") for one in self.lead)
        live = ""
        if self.live_s:
            words = f"In progress: this page reloads every {self.live_s} s."
            live = element("p", text(words), class_="live", data_live=str(self.live_s))
        without = element("noscript", element("p", "Tables, diagrams and the timeline of this page need JavaScript."))
        main = MainMetrics(self.main).html() if self.main else ""
        head = element("div", over, class_="over") + element("h1", text(self.title))
        return element("header", head, lead, live, without, main)

    def save(self, path: str | Path) -> Path:
        """Write the page into a file, whole or not at all. Raises OSError if it cannot be written."""
        target = Path(path)
        write_text(target, self.html())
        return target

    def __repr__(self) -> str:
        return f"<twolevel page of a {self.kind.lower()}: {self.title}>"

    def _repr_html_(self) -> str:
        # In a sandboxed frame, so that the page cannot change the notebook.
        look = f'width="100%" height="{_FRAME_PX}" title="{text(self.title)}"'
        return f'<iframe sandbox="allow-scripts allow-downloads" {look} srcdoc="{text(self.html())}"></iframe>'


@cache
def _asset(name: str) -> str:
    found = (files("bridge.report") / "assets" / name).read_text(encoding="utf-8")
    # The text of a script element ends at the first end tag.
    return found.replace("</script", "<\\/script").replace("<!--", "<\\!--") if name.endswith(".js") else found


def _sum(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode("ascii")
