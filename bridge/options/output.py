"""Output and checks of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bls.options import OBSERVE, STREAM
from bridge.options import declared as d
from traces.base.options import holds


@dataclass(frozen=True)
class RunOutput:
    """Output and checks of ``twolevel run`` in addition to those of every run."""

    observe: Sequence[str] = holds(OBSERVE)
    nodes: bool = holds(d.NODES)
    tasks: bool = holds(d.TASKS_TABLE)
    trace: str = holds(d.TRACE_FORMATS)
    trace_detail: str = holds(d.TRACE_DETAIL)
    trace_window: str | None = holds(d.TRACE_WINDOW)
    trace_cores: str | None = holds(d.TRACE_CORES)
    stream: bool = holds(STREAM)
    live: bool = holds(d.LIVE)
    check: bool = holds(d.CHECK)
    same_as: str | None = holds(d.SAME_AS)

    @property
    def traced(self) -> bool:
        """Whether a trace is written."""
        return self.trace != d.NO_FORMATS

    @property
    def other(self) -> Path | None:
        """Folder of the earlier run to compare with."""
        return None if self.same_as is None else Path(self.same_as)

    def names(self, formats: Sequence[str]) -> dict[str, Any]:
        """Return the entries of the record of a run whose traces have these formats."""
        return {"observe": list(self.observe), "tasks_table": self.tasks, **self.trace_names(formats)}

    def trace_names(self, formats: Sequence[str]) -> dict[str, Any]:
        """Return the entries of the record about traces."""
        return {
            "trace": list(formats),
            "trace_detail": self.trace_detail,
            "trace_window": self.trace_window,
            "trace_cores": self.trace_cores,
        }
