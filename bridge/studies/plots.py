"""The figures of a study in Python: ``report.plot.makespan()``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.studies.drawing import Part
    from traces.figures.drawing.canvas import Figure


class StudyPlots:
    """Draws a study: each method gives a matplotlib figure, which a notebook shows and ``savefig`` writes.

    Of a study with several workloads, or values of an option that a figure does not show, each is a ``part`` with a
    figure of its own, as the files of ``twolevel study`` are; where there are several and none is given, the error
    lists them. ``title`` is written above. Raises InputError if the results do not allow the figure, or the part is
    none of them.
    """

    def __init__(self, parts: Callable[[str], Sequence[Part]]) -> None:
        self._parts = parts

    def makespan(self, *, part: str | None = None, title: str = "") -> Figure:
        """The makespan of every combination at each variation, and how far above the lowest."""
        return self._drawn("makespan", part, title)

    def wait(self, *, part: str | None = None, title: str = "") -> Figure:
        """The mean wait, likewise."""
        return self._drawn("wait", part, title)

    def slowdown(self, *, part: str | None = None, title: str = "") -> Figure:
        """The mean bounded slowdown, likewise."""
        return self._drawn("slowdown", part, title)

    def computing_utilisation(self, *, part: str | None = None, title: str = "") -> Figure:
        """The share of the machine's time that cores spent in tasks, for every combination."""
        return self._drawn("computing-utilisation", part, title)

    def utilisation(self, *, part: str | None = None, title: str = "") -> Figure:
        """The utilisation, likewise."""
        return self._drawn("utilisation", part, title)

    def variation(self, *, part: str | None = None, title: str = "") -> Figure:
        """The makespan against the variation."""
        return self._drawn("variation", part, title)

    def ratio(self, *, part: str | None = None, title: str = "") -> Figure:
        """The makespan over that at the smallest variation."""
        return self._drawn("ratio", part, title)

    def imbalance(self, *, part: str | None = None, title: str = "") -> Figure:
        """The mean load imbalance of jobs."""
        return self._drawn("imbalance", part, title)

    def cost(self, *, part: str | None = None, title: str = "") -> Figure:
        """How long a simulation took, by its number of jobs."""
        return self._drawn("cost", part, title)

    def comparison(self, *, part: str | None = None, title: str = "") -> Figure:
        """Each value of an option against one of them; a part is an option and a base."""
        return self._drawn("comparison", part, title)

    def slowdown_boxes(self, *, part: str | None = None, title: str = "") -> Figure:
        """Distributions of bounded slowdowns, one box per combination; from kept ``jobs``."""
        return self._drawn("slowdown-boxes", part, title)

    def queue_boxes(self, *, part: str | None = None, title: str = "") -> Figure:
        """Distributions of the number of waiting jobs, one box per combination; from kept ``decisions``."""
        return self._drawn("queue-boxes", part, title)

    def decisions(self, *, part: str | None = None, title: str = "") -> Figure:
        """The mean time of a scheduling pass by the number of waiting jobs; from kept ``decisions``."""
        return self._drawn("decisions", part, title)

    def decision_cost(self, *, part: str | None = None, title: str = "") -> Figure:
        """The mean time of a simulation step, deciding and the rest; from kept ``decisions``."""
        return self._drawn("decision-cost", part, title)

    def _drawn(self, name: str, part: str | None, title: str) -> Figure:
        from bridge.studies.drawing import STUDY_FIGURES, fresh, missing
        from traces.base.errors import InputError, one_of

        taken: set[str] = set()
        parts = {fresh(one.name, taken): one for one in self._parts(name)}
        if not parts:
            raise InputError(f"{name}: the results have nothing to draw it of")
        if part is None and len(parts) > 1:
            raise InputError(
                f"{name}: it is drawn of each of {len(parts)} parts; allowed: part= one of {', '.join(parts)}"
            )
        if part is not None and part not in parts:
            raise one_of("part", part, parts, "part=")
        chosen = parts[part] if part is not None else next(iter(parts.values()))
        if why := missing(name, chosen.frame):
            raise InputError(f"{name}: cannot be drawn: {why}")
        return STUDY_FIGURES[name](chosen.frame, title or chosen.words)
