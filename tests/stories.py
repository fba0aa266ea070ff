"""Output of a failing comparison with the slow reference: both stories of the first job that differs."""

from typing import Any

from reference.machine import Attempt

from bridge.runs.story import job_story
from traces.intervals import intervals_text


def _story(attempts: list[Attempt], number: int) -> list[str]:
    columns = {
        "job_id": [one.number for one in attempts],
        "submit_ns": [one.eligible for one in attempts],
        "eligible_ns": [one.eligible for one in attempts],
        "start_ns": [one.start for one in attempts],
        "end_ns": [one.end for one in attempts],
        "cores": [len(one.cores) for one in attempts],
        "held_cores": [len(one.cores) for one in attempts],
        "attempt": [one.attempt for one in attempts],
        "why": [one.why for one in attempts],
        "state": [one.state for one in attempts],
        "allocation": [intervals_text([(core, core + 1) for core in one.cores]) for one in attempts],
    }
    if number not in columns["job_id"]:
        return [f"no job {number}"]
    n_cores = 1 + max((core for one in attempts for core in one.cores), default=0)
    return job_story(columns, number, n_cores).splitlines()


def pytest_assertrepr_compare(config: Any, op: str, left: object, right: object) -> list[str] | None:
    """Stories of the first job that differs between two lists of attempts that should be equal, left and right."""
    both = (left, right)
    if op != "==" or not all(isinstance(one, list) and one and isinstance(one[0], Attempt) for one in both):
        return None
    assert isinstance(left, list)
    assert isinstance(right, list)
    found, expected = set(left), set(right)
    first = next((one for one in [*left, *right] if (one in found) != (one in expected)), None)
    if first is None:
        return None  # the same attempts in another order
    return [
        f"attempts == attempts: job {first.number} differs",
        *("left:  " + line for line in _story(left, first.number)),
        *("right: " + line for line in _story(right, first.number)),
    ]
