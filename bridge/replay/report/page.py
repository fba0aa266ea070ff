"""The report page of a replay: that of a run, with Slurm's configuration and cost, and the compared schedules."""

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from als.options import ALS
from bridge.options.declared import CLEANUP, PHASE, PRIORITIES, RATE, SETTLE, SLURM_CONF, SLURM_SET, SLURM_TOPOLOGY
from bridge.replay.report.written import MEASURES, written
from bridge.replay.run import Replay, replay_account
from bridge.report.page import Page
from bridge.report.parts import Facts, Figures, PagePart, Section, file_address
from bridge.runs.again import command_again, run_options
from bridge.runs.page import page_of_run, parts_of_folder, parts_of_result
from bridge.scenarios.scenario import RECORDED
from traces.base.errors import InputError
from traces.base.options import Option
from traces.base.time import NS_PER_S, format_ns

#: The options of ``twolevel replay`` that ``run`` does not have.
_OPTIONS: tuple[Option[Any], ...] = (SLURM_CONF, SLURM_TOPOLOGY, PRIORITIES, SLURM_SET, SETTLE, RATE, PHASE, CLEANUP)

#: The figures of a replay's report, and their captions.
_FIGURES = {
    "differences": "Differences of submits, starts and run times of jobs",
    "submissions": "Submitted jobs per hour of the day",
    "makespans": "Makespans of repeats by clock, compared with the others",
    "rates": "Elapsed time and share of failures by clock",
    "sizes": "Elapsed time and share of failures by the number of jobs",
}


def replay_page(folder: Path) -> Page:
    """The page of a result of ``twolevel replay``. Raises InputError if a file is missing or cannot be read."""
    parts = parts_of_folder(folder)
    replayed = parts.record.get("replay")
    if not isinstance(replayed, Mapping):
        raise InputError(f"{folder / 'run.json'}: is not a record of twolevel replay")
    sections = [slurm_section(replayed)]
    if (comparison := _comparison(folder / "report")) is not None:
        sections.insert(0, comparison)
    return page_of_run(parts, kind="Replay", sections=sections, command=_command(parts.record))


def page_of_replay(done: Replay) -> Page:
    """The page of a replay in Python."""
    replayed = replay_account(done)
    parts = parts_of_result(done.result)
    parts = parts._replace(record={**parts.record, "replay": replayed})
    return page_of_run(parts, kind="Replay", sections=[slurm_section(replayed)])


def slurm_section(replayed: Mapping[str, Any]) -> Section:
    """The section about Slurm, from a record."""
    rows = [("release", str(replayed.get("release", "")))]
    span_s, took_s = replayed.get("simulated_s"), replayed.get("replay_s")
    if isinstance(span_s, int | float) and isinstance(took_s, int | float) and took_s > 0:
        span, took = (format_ns(round(one * NS_PER_S)) for one in (span_s, took_s))
        rows.append(("replayed", f"{span} in {took}, {span_s / took_s:,.0f}×"))
    rows += [(name, f"{replayed[name]:,}") for name in ("jumps", "messages") if isinstance(replayed.get(name), int)]
    rows += [("replaced in its configuration", str(words)) for words in replayed.get("replaced") or []]
    keys = replayed.get("keys") or {}
    parts: list[PagePart] = [Facts(rows)]
    if keys:
        parts.append(Facts([(str(name), str(value)) for name, value in keys.items()], ("parameter", "value")))
    return Section("slurm", "Slurm", parts, "The real scheduler, with a simulated clock.")


def _comparison(folder: Path) -> Section | None:
    # The comparison of the replay's report: None without one.
    if not (folder / "measures.csv").is_file():
        return None
    with open(folder / "measures.csv", newline="", encoding="utf-8") as file:
        sides = [row for row in csv.DictReader(file) if row.get("repeat") == "0"]
    rows = [(words, *(_shown(name, side.get(name, "")) for side in sides)) for name, words in MEASURES.items()]
    images = [(file_address(png), text) for name, text in _FIGURES.items() if (png := folder / f"{name}.png").is_file()]
    parts: list[PagePart] = [Facts(rows, ("", *(side["side"] for side in sides)))]
    if images:
        parts.append(Figures(images))
    return Section("beside", "Side by side", parts, "The same jobs with Slurm, and with policies of our engine.")


def _shown(name: str, text: str) -> str:
    try:
        value = float(text)
    except ValueError:
        return text
    return written(name, int(value) if value.is_integer() else value)


def _command(record: Mapping[str, Any]) -> str:
    # Slurm's own decisions have their own options.
    of_slurm = dict.fromkeys(("bls", "backfill", "allocator", "kill_at_walltime"))
    arguments = {"als": RECORDED, **(record.get("arguments") or {}), **of_slurm}
    options = {name: option for name, option in run_options().items() if name not in of_slurm}
    options |= {option.key: option for option in _OPTIONS}
    options["als"] = replace(ALS, default=RECORDED)
    return command_again(arguments, "replay", options)
