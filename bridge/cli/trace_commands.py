"""The commands ``twolevel trace``: what is in a trace, a part of it, another format."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from bridge.options.bundles import AS_JSON, RUN, argument, group
from bridge.options.declared import OUT, TRACE_CORES, TRACE_DETAIL, TRACE_FORMATS, TRACE_WINDOW
from bridge.standard_error import lined_up, put, say
from traces.base.errors import InputError
from traces.base.options import PART_JOBS, Panel

_OUT = replace(OUT, help="Folder for the trace; it must not exist", panel=Panel.OTHER)
_FORMATS = replace(TRACE_FORMATS, bare="", help=TRACE_FORMATS.help.removesuffix("; or none"))


def info_command(
    *,
    results: Annotated[str, argument("DIR", "Results of twolevel run, or an OTF2 archive.")],
    as_json: AS_JSON = False,
) -> None:
    """Describe the tables and traces of a run, or an OTF2 archive: locations, regions, events, time span, sizes."""
    from bridge.runs.trace_info import described, info_rows

    found = described(Path(results))
    print(json.dumps(found, indent=2, ensure_ascii=False) if as_json else lined_up(info_rows(found)))


def cut_command(
    *,
    results: RUN,
    out: Annotated[str, _OUT],
    trace_window: Annotated[str | None, TRACE_WINDOW] = TRACE_WINDOW.default,
    trace_cores: Annotated[str | None, TRACE_CORES] = TRACE_CORES.default,
    jobs: Annotated[str | None, PART_JOBS] = PART_JOBS.default,
    trace: Annotated[str, _FORMATS] = TRACE_FORMATS.default,
    trace_detail: Annotated[str, TRACE_DETAIL] = TRACE_DETAIL.default,
) -> None:
    """Write a trace of a part of a run: a window of time, some cores, or some jobs."""
    from bridge.runs.stored import job_words
    from bridge.runs.stored_trace import write_part
    from bridge.runs.tracing import part_of
    from traces.exporters.shown.part import WHOLE

    part = part_of(trace_window, trace_cores, jobs, job_words(Path(results)))
    if part == WHOLE:
        raise InputError(
            "trace cut: no part is chosen; add --trace-window, --trace-cores or --jobs, or use trace convert"
        )
    for path in write_part(Path(results), out, trace, trace_detail, part, say):
        put(path)


def convert_command(
    *,
    results: RUN,
    out: Annotated[str, _OUT],
    trace: Annotated[str, _FORMATS] = TRACE_FORMATS.default,
    trace_detail: Annotated[str, TRACE_DETAIL] = TRACE_DETAIL.default,
) -> None:
    """Write a trace of a finished run in any format, from its tables."""
    from bridge.runs.stored_trace import write_part
    from traces.exporters.shown.part import WHOLE

    for path in write_part(Path(results), out, trace, trace_detail, WHOLE, say):
        put(path)


trace_app = group(
    "trace",
    "Describe a trace, cut a part out, or convert it.",
    (info_command, "Describe a trace or a run.", "results"),
    (
        cut_command,
        "Write a part of a run as a trace.",
        "results --trace-window 2h..3h --trace-cores 0-63 --trace perfetto --out part",
    ),
    (convert_command, "Write a run as a trace in another format.", "results --trace perfetto --out perfetto"),
)
