"""The command ``story``: what happened to one job of a run, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bridge.standard_error import put_text


def story_command(
    results: Annotated[str, typer.Argument(metavar="DIR", help="The --out of a twolevel run.")],
    job: Annotated[
        str,
        typer.Argument(metavar="JOB", help="The job: its number in the workload, Slurm's name, as 900_2, or its name."),
    ],
) -> None:
    """Print what happened to one job, one line per event: when it came, why it waited, how it started, how it ended."""
    from bridge.runs.story import story_of_results

    put_text(story_of_results(Path(results), job))
