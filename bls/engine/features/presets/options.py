"""The option of jobs that run from the start; their conflicts."""

from typing import Final

from bls.engine.features.core_choices import unaware
from traces.base.options import Option, Panel, has

PRESET = Option[bool | None](
    name="preset", off="no-preset", panel=Panel.JOBS, default=None,
    help="Start a window with the jobs that were running or queued according to the log, or with an empty machine",
    rule="with the jobs, if the log records starts and its running jobs fit the platform")

PRESETS: Final = has(
    "jobs that run from the start", lambda run: run.workload.preset.any(),
    lambda run: f"job {run.workload.job_id[run.workload.preset.argmax()]} runs from the start", running=True)

UNAWARE: Final = (unaware("presets", PRESETS, f"{PRESET:False}"),)
