"""The options of traces: in which formats, how much of a run, in how much detail."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from bridge.options.declared import NO_TRACE, TRACE_CORES, TRACE_DETAIL, TRACE_FORMATS, TRACE_WINDOW

#: What ``--trace`` takes in place of formats: none.
NO_FORMATS = "none"


@dataclass(frozen=True)
class TraceOptions:
    """Which traces a run writes; one field an option."""

    trace: Annotated[str, TRACE_FORMATS] = TRACE_FORMATS.default
    no_trace: Annotated[bool, NO_TRACE] = NO_TRACE.default
    trace_detail: Annotated[str, TRACE_DETAIL] = TRACE_DETAIL.default
    trace_window: Annotated[str | None, TRACE_WINDOW] = TRACE_WINDOW.default
    trace_cores: Annotated[str | None, TRACE_CORES] = TRACE_CORES.default

    @property
    def wanted(self) -> bool:
        """Whether there is to be a trace."""
        return not self.no_trace and self.trace != NO_FORMATS

    def names(self, formats: Sequence[str]) -> dict[str, Any]:
        """What the record of a run says of its traces, which are written in so many formats."""
        return {
            "trace": list(formats),
            "trace_detail": self.trace_detail,
            "trace_window": self.trace_window,
            "trace_cores": self.trace_cores,
        }
