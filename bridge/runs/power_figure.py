"""The figure of what the machine of a run has drawn, from its folder."""

from __future__ import annotations

from pathlib import Path

from bls.options import POWER
from bridge.runs.directory import read_record
from bridge.runs.gantt import run_title
from traces.base.errors import InputError
from traces.tables import read_jobs, read_power, read_power_domains


def draw_power(folder: Path, target: Path) -> Path:
    """Draw what the machine of a run has drawn into one file, ``png``, ``svg`` or ``pdf`` by its name; returns it.

    Raises InputError if the folder is no result of a run with ``--power``, nothing took any time, or the file cannot be
    written.
    """
    from traces.figures.drawing.canvas import save
    from traces.figures.run.power import power_figure

    record, power = read_record(folder), folder / "power.parquet"
    if not power.is_file():
        raise InputError(f"{folder} has no power.parquet; simulate again with {POWER}")
    until_ns = int(read_jobs(folder / "jobs.parquet")["end_ns"].max())
    domains = read_power_domains(folder / "power_domains.parquet")
    save(power_figure(read_power(power), until_ns=until_ns, domains=domains, title=run_title(record)), target)
    return target
