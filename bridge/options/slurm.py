"""Options of a replay: configuration and clock of Slurm, and comparisons."""

from dataclasses import dataclass
from typing import Annotated

from bridge.options import declared as d


@dataclass(frozen=True)
class SlurmOptions:
    """How Slurm is configured, and under which clock it runs."""

    slurm_conf: Annotated[str | None, d.SLURM_CONF] = d.SLURM_CONF.default
    topology: Annotated[str | None, d.SLURM_TOPOLOGY] = d.SLURM_TOPOLOGY.default
    priorities: Annotated[str, d.PRIORITIES] = d.PRIORITIES.default
    set: Annotated[list[str] | None, d.SLURM_SET] = None
    settle: Annotated[float | None, d.SETTLE] = d.SETTLE.default
    rate: Annotated[float, d.RATE] = d.RATE.default
    phase: Annotated[float | None, d.PHASE] = d.PHASE.default
    cleanup: Annotated[float, d.CLEANUP] = d.CLEANUP.default


@dataclass(frozen=True)
class ReportOptions:
    """Comparisons and repetitions of a replay."""

    report: Annotated[bool, d.REPORT] = d.REPORT.default
    report_only: Annotated[bool, d.REPORT_ONLY] = d.REPORT_ONLY.default
    beside: Annotated[str, d.BESIDE] = d.BESIDE.default
    repeats: Annotated[int, d.REPEATS] = d.REPEATS.default
    rates: Annotated[str | None, d.RATES] = None
    sizes: Annotated[str | None, d.SIZES] = None
