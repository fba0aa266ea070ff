"""The application level: tasks, loop-scheduling techniques, and the engine that gives tasks to cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.lazy import lazy_names

if TYPE_CHECKING:
    from als.application import Application
    from als.bounds import earliest_end_ns
    from als.metrics import application_metrics
    from als.tasks import TaskModel
    from als.techniques import Technique, technique, technique_kernel

__all__ = [
    "Application",
    "TaskModel",
    "Technique",
    "application_metrics",
    "earliest_end_ns",
    "technique",
    "technique_kernel",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Application": "als.application",
        "TaskModel": "als.tasks",
        "Technique": "als.techniques",
        "application_metrics": "als.metrics",
        "earliest_end_ns": "als.bounds",
        "technique": "als.techniques",
        "technique_kernel": "als.techniques",
    },
)
