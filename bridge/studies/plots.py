"""The figures of a study in Python: ``report.plot.makespan()``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bridge.studies.drawing import FigureData
    from traces.figures.drawing.canvas import Figure


def _figure(name: str, about: str) -> Callable[..., Figure]:
    # A method that draws a figure of this name.
    def draw(self: StudyPlots, *, part: str | None = None, title: str = "") -> Figure:
        return self._drawn(name, part, title)

    draw.__name__, draw.__doc__ = name.replace("-", "_"), about
    return draw


class StudyPlots:
    """Draws a study: each method gives a matplotlib figure, which a notebook shows and ``savefig`` writes.

    Of a study with several workloads, or values of an option that a figure does not show, each is a ``part`` with a figure of
    its own, as the files of ``twolevel study`` are; where there are several and none is given, the error lists them.
    ``title`` is written above. Raises InputError if the results do not allow the figure, or the part is none of them.
    """

    def __init__(self, parts: Callable[[str], Sequence[FigureData]]) -> None:
        self._parts = parts

    makespan = _figure("makespan", "The makespan of every combination at each variation, and how far above the lowest.")
    wait = _figure("wait", "The mean wait, likewise.")
    slowdown = _figure("slowdown", "The mean bounded slowdown, likewise.")
    computing_utilisation = _figure(
        "computing-utilisation", "The share of the machine's time that cores spent in tasks, for every combination."
    )
    utilisation = _figure("utilisation", "The utilisation, likewise.")
    variation = _figure("variation", "The makespan against the variation.")
    ratio = _figure("ratio", "The makespan over that at the smallest variation.")
    imbalance = _figure("imbalance", "The mean load imbalance of jobs.")
    cost = _figure("cost", "How long a simulation took, by its number of jobs.")
    comparison = _figure("comparison", "Each value of an option against one of them; a part is an option and a base.")
    slowdown_boxes = _figure(
        "slowdown-boxes", "Distributions of bounded slowdowns, one box per combination; from kept ``jobs``."
    )
    queue_boxes = _figure(
        "queue-boxes", "Distributions of the number of waiting jobs, one box per combination; from kept ``decisions``."
    )
    decisions = _figure(
        "decisions", "The mean time of a scheduling pass by the number of waiting jobs; from kept ``decisions``."
    )
    decision_cost = _figure(
        "decision-cost", "The mean time of a simulation step, deciding and the rest; from kept ``decisions``."
    )

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
