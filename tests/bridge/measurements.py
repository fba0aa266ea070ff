"""Small measurements for tests of the module ``bridge.measure`` and of what reads its folder."""

from typing import Any

from bridge.measure import MeasurementRecord

#: One run of a loop of five iterations and of two tasks, on two threads.
SMALL: dict[str, dict[str, Any]] = {
    "runs": {
        "run": [0],
        "schedule": ["dynamic,2"],
        "threads": [2],
        "repeat": [0],
        "begin_ns": [0],
        "end_ns": [900],
        "quiet_ns": [-1],
        "exit_status": [0],
    },
    "regions": {"region": [0, 1], "name": ["main", "app.c:12"], "kind": ["loop", "tasks"]},
    "loops": {
        "run": [0, 0],
        "loop": [0, 1],
        "region": [0, 1],
        "schedule": ["dynamic", "other"],
        "iterations": [5, 0],
        "threads": [2, 2],
        "begin_ns": [100, 500],
        "end_ns": [400, 800],
    },
    "chunks": {
        "run": [0, 0, 0],
        "loop": [0, 0, 0],
        "thread": [0, 1, 0],
        "first": [0, 2, 4],
        "iterations": [2, 2, 1],
        "chunks": [1, 1, 1],
        "begin_ns": [110, 120, 300],
        "end_ns": [290, 380, 390],
    },
    "waits": {"run": [0, 0], "loop": [0, 0], "thread": [0, 1], "begin_ns": [391, 381], "end_ns": [399, 399]},
    "tasks": {
        "run": [0, 0],
        "loop": [1, 1],
        "task": [0, 1],
        "creator": [-1, -1],
        "thread": [0, 1],
        "created_ns": [510, 520],
        "begin_ns": [530, 600],
        "end_ns": [590, 700],
        "run_ns": [60, 90],
    },
    "dependences": {"run": [0], "loop": [1], "before": [0], "after": [1]},
}

RECORD = MeasurementRecord("openmp", ["./app", "7"], remarks=["two chunks of no work"])
