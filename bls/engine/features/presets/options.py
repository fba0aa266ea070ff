"""The option of jobs that run from the start."""

from traces.base.options import Option, Panel

PRESET = Option[bool | None](
    name="preset", off="no-preset", panel=Panel.JOBS, default=None,
    help="Start a window with the jobs that were running or queued according to the log, or with an empty machine",
    rule="with the jobs, if the log records starts and its running jobs fit the platform")
