"""The application level: programs, task lengths, loop-scheduling techniques, and the engine that gives tasks to cores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from traces.lazy import lazy_names

if TYPE_CHECKING:
    from als.application import Application
    from als.bounds import earliest_end_ns
    from als.lengths import LengthModel, length_kernel
    from als.metrics import application_metrics
    from als.program import Loop, Program, Serial
    from als.python_technique import PythonTechnique
    from als.tasks import TaskModel
    from als.techniques import Selection, Technique, technique, technique_kernel

__all__ = [
    "Application",
    "LengthModel",
    "Loop",
    "Program",
    "PythonTechnique",
    "Selection",
    "Serial",
    "TaskModel",
    "Technique",
    "application_metrics",
    "earliest_end_ns",
    "length_kernel",
    "technique",
    "technique_kernel",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Application": "als.application",
        "LengthModel": "als.lengths",
        "Loop": "als.program",
        "Program": "als.program",
        "PythonTechnique": "als.python_technique",
        "Selection": "als.techniques",
        "Serial": "als.program",
        "TaskModel": "als.tasks",
        "Technique": "als.techniques",
        "application_metrics": "als.metrics",
        "earliest_end_ns": "als.bounds",
        "length_kernel": "als.lengths",
        "technique": "als.techniques",
        "technique_kernel": "als.techniques",
    },
)
