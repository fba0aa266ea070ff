"""Options of a replay: configuration and clock of Slurm, and comparisons."""

from dataclasses import dataclass

from bridge.options import declared as d
from traces.base.options import holds


@dataclass(frozen=True)
class SlurmOptions:
    """How Slurm is configured, and under which clock it runs."""

    slurm_conf: str | None = holds(d.SLURM_CONF)
    topology: str | None = holds(d.SLURM_TOPOLOGY)
    priorities: str = holds(d.PRIORITIES)
    set: tuple[str, ...] = holds(d.SLURM_SET)
    settle: float | None = holds(d.SETTLE)
    rate: float = holds(d.RATE)
    phase: float | None = holds(d.PHASE)
    cleanup: float = holds(d.CLEANUP)


@dataclass(frozen=True)
class ReportOptions:
    """Comparisons and repetitions of a replay."""

    report: str = holds(d.REPORT)
    beside: str = holds(d.BESIDE)
    repeats: int = holds(d.REPEATS)
    rates: str | None = holds(d.RATES)
    sizes: str | None = holds(d.SIZES)
