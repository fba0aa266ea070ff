"""The gallery: all pictures of the pages, each with what makes it.

    python -m tools.site.gallery

writes ``docs/reference/gallery.md``. :data:`PICTURES` is the one list. What a picture shows is said where a page shows it,
and the gallery takes it from there; a test holds that every picture of ``docs/images`` is here once, and that every command
exists (tests/docs/test_gallery.py).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tools.site.pages import DOCS, GROUPS, ROOT

__all__ = ["PAGE", "PICTURES", "Section", "gallery"]

PAGE = DOCS / "reference" / "gallery.md"

_DRAWN = "twolevel figures DIR --only {}"
_LOOP = "twolevel loop --n 400 --lengths gamma:cov=0.5 --mean 50 --cores 8 --als fac --overhead 300000000 --out loop"
_GRAPH = "twolevel graph cholesky:tiles=8,ccr=0.1 --hosts 4 --cores 16 --als heft --network lv08 --out graph"


@dataclass(frozen=True)
class Section:
    """Pictures of a kind.

    Attributes
    ----------
    heading, about : str
        What is said above them.
    pictures : dict of str to str
        File in ``docs/images`` → the command that makes such a picture of something of one's own; empty where there is none.
    made_by : str
        What has made these very files: a module of ``tools``, or a command.
    """

    heading: str
    about: str
    pictures: dict[str, str]
    made_by: str


def _alike(command: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, command)


PICTURES = (
    Section(
        "A run",
        "`twolevel run … --tasks --decisions --out DIR` writes their tables. In Python: `result.plot.gantt()` and so on.",
        {
            "run-utilisation.png": _DRAWN.format("utilisation"),
            "run-waits.png": _DRAWN.format("waits"),
            "run-imbalance.png": _DRAWN.format("imbalance"),
            "run-held.png": _DRAWN.format("held"),
            "run-heat.png": _DRAWN.format("heat"),
            "run-gantt.png": _DRAWN.format("gantt"),
            "run-chunks.png": _DRAWN.format("chunks"),
            "run-lengths.png": _DRAWN.format("lengths"),
            "run-decisions.png": _DRAWN.format("decisions"),
        },
        "python -m tools.run_pictures",
    ),
    Section(
        "A report page, in a browser",
        "",
        {"report.png": "twolevel report DIR -o page.html"},
        "these commands",
    ),
    Section(
        "Some jobs of a run",
        "",
        {"gantt.png": "twolevel gantt DIR --jobs 97-104 -o gantt.png"},
        "make demo",
    ),
    Section(
        "What a machine draws",
        "Of a run with `--power` or with limits to power.",
        _alike(
            "twolevel power DIR -o power.png",
            *(f"demand-response-{name}.png" for name in ("none", "submit", "hold", "dvfs", "stop-idle", "stop-off")),
        ),
        "python -m tools.demand_response",
    ),
    Section(
        "A study",
        "`twolevel grid` and `twolevel study` draw them into `DIR/figures`; this draws them again.",
        {
            "study-makespan.png": _DRAWN.format("makespan"),
            "study-variation.png": _DRAWN.format("variation"),
            "study-ratio.png": _DRAWN.format("ratio"),
            "study-imbalance.png": _DRAWN.format("imbalance"),
            "study-cost.png": _DRAWN.format("cost"),
            "study-comparison.png": _DRAWN.format("comparison"),
            "study-slowdown-boxes.png": _DRAWN.format("slowdown-boxes"),
            "study-queue-boxes.png": _DRAWN.format("queue-boxes"),
            "study-decisions.png": _DRAWN.format("decisions"),
            "study-decision-cost.png": _DRAWN.format("decision-cost"),
        },
        "python -m tools.study_pictures",
    ),
    Section(
        "Two runs",
        "",
        {"compare-chain.png": "twolevel compare DIR_A DIR_B --job 64 --out compared"},
        "the example of the page on comparing",
    ),
    Section(
        "One loop, one graph",
        "",
        {
            "loop.png": _LOOP,
            "graph-schedule.png": _GRAPH,
        },
        "these commands",
    ),
    Section("Task lengths", "", {"lengths.png": ""}, "python -m tools.length_pictures"),
    Section(
        "Techniques", "", _alike("", "techniques.png", "techniques-learning.png"), "python -m tools.technique_pictures"
    ),
    Section("Speeds of cores", "", {"core-speeds.png": ""}, "python -m tools.speed_pictures"),
    Section(
        "Small schedules",
        "",
        _alike("", *(f"schedule-{number}.svg" for number in range(1, 7))),
        "python -m tools.schedule_pictures",
    ),
    Section(
        "The two-level paper's evaluation",
        "",
        _alike(
            "",
            *(f"paper-{kind}-{log}.png" for kind in ("makespan", "variation", "ratio") for log in ("W1", "W2")),
            *("paper-8-tasks-W1.png", "paper-gantt.png", "paper-cost.png"),
        ),
        "python -m tools.paper_pages",
    ),
    Section("The two-level paper's extra tasks", "", {"paper-draws.png": ""}, "python -m tools.paper_draws"),
    Section(
        "The two-level paper's four jobs",
        "",
        _alike("", *(f"paper-four-jobs-{name}.png" for name in ("static", "small-first", "ss-release", "ss-hint"))),
        "python -m tools.paper_four_jobs",
    ),
    Section(
        "AccaSim's case study",
        "",
        _alike(
            "",
            *(
                f"accasim-{name}.png"
                for name in (
                    *("slowdown-boxes", "queue-boxes", "decision-cost", "decisions"),
                    *("like-50k", "like-500k", "calendar-500k"),
                )
            ),
        ),
        "python -m tools.accasim_study",
    ),
    Section(
        "Levels that talk, jobs that change their width",
        "",
        _alike(
            "",
            *("coordination-W2.png", "coordination-CEA-Curie.png", "coordination-hints-W2.png"),
            *("malleable-W1.png", "malleable-W2.png"),
        ),
        "python -m tools.coordination_page",
    ),
    Section(
        "The bridge's protocol",
        "",
        _alike("", "protocol-connection.svg", "protocol-job.svg"),
        "python -m tools.protocol_picture",
    ),
    Section("Better estimates", "", {"estimates-slowdown.png": ""}, "python -m tools.estimates_study"),
    Section(
        "Demand response",
        "",
        _alike("", *(f"demand-response-{name}.png" for name in ("study", "shares", "states"))),
        "python -m tools.demand_response",
    ),
    Section(
        "Demand response with loops and graphs",
        "",
        {"demand-response-techniques.png": ""},
        "python -m tools.demand_response_applications",
    ),
    Section(
        "Constraint programming",
        "",
        _alike("", "cp-eurora.png", "cp-forhlr.png", "cp-instances.png"),
        "python -m tools.dispatch_instances figures",
    ),
)


def _shown() -> dict[str, tuple[str, Path]]:
    # Picture → (what a page says that it shows, the page): the reference before other groups, pictures before links to some.
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


def _title(page: Path) -> str:
    return page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")


def gallery() -> str:
    """The page."""
    shown = _shown()
    lines = [
        "# Gallery",
        "",
        "<!-- generated: python -m tools.site.gallery -->",
        "All pictures of these pages. With each is the command that makes one like it from results of yours, if there is one,",
        "and what made this one.",
        "",
    ]
    for section in PICTURES:
        lines += [f"## {section.heading}", ""]
        by = f"`{section.made_by}`" if re.match("(python|make) ", section.made_by) else section.made_by
        lines += [" ".join(filter(None, [section.about, f"These were made by {by}."])), ""]
        for name, command in section.pictures.items():
            words, page = shown[name]
            if len(words.split()) == 1:  # a page has a link to it only
                words = f"{section.heading}: {words.strip('`')}"
            lines += [f"![{words}](../images/{name})", ""]
            lines += [f"*{words}.* [{_title(page)}]({os.path.relpath(page, PAGE.parent)})", ""]
            lines += ["```text", command, "```", ""] if command else []
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(gallery(), encoding="utf-8")
