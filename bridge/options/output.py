"""Output and checks of a run, and how figures are written."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from bls.options import OBSERVE, STREAM
from bridge.options import declared as d
from traces.base.options import holds

if TYPE_CHECKING:
    from traces.figures.drawing.for_paper import ForPaper


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
        """Return the entries for the record of a run with traces in these formats."""
        return {"observe": list(self.observe), "tasks_table": self.tasks, **self.trace_names(formats)}

    def trace_names(self, formats: Sequence[str]) -> dict[str, Any]:
        """Return the entries of the record about traces."""
        return {
            "trace": list(formats),
            "trace_detail": self.trace_detail,
            "trace_window": self.trace_window,
            "trace_cores": self.trace_cores,
        }


@dataclass(frozen=True)
class PaperOptions:
    """Width and titles of figures."""

    width: Annotated[str | None, d.WIDTH] = d.WIDTH.default
    no_title: Annotated[bool, d.NO_TITLE] = d.NO_TITLE.default

    def asked(self) -> ForPaper:
        """Return the request. Raises InputError if the width is invalid."""
        from traces.figures.drawing.for_paper import ForPaper

        return ForPaper.of(self.width, not self.no_title, str(d.WIDTH))

    def drawing(self) -> AbstractContextManager[None]:
        """Return a context in which figures are drawn in this way. Raises InputError if the width is invalid."""
        from traces.figures.drawing.for_paper import drawn_for

        return drawn_for(self.asked())
