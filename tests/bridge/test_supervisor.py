"""Requirements of a run on an application simulator, and the choice of the worker for the next job."""

from typing import Any

import numpy as np
import pytest
from conversation import hello, start
from tables import table_rows

from bls.engine.features.limits.options import FALLBACK
from bls.options import BLS
from bridge.protocol.task_payload import TaskPayload
from bridge.standard_error import on_command_line
from bridge.workers.assignment import Assignment, Order, Worker
from bridge.workers.supervisor import Needs


@pytest.mark.parametrize(("needs", "lacks", "said"), table_rows(__file__, "lacks"))
def test_the_option_and_what_is_allowed(needs: dict[str, Any], lacks: str, said: str) -> None:
    if "scaled_by" in needs:
        needs["scaled_by"] = needs["scaled_by"].format(BLS=BLS, FALLBACK=FALLBACK)
    assert Needs(**needs).unmet_by(hello(name="toy")) is None
    unmet = Needs(**needs).unmet_by(hello(name="toy", **{lacks: False}))
    assert unmet is not None
    assert on_command_line(unmet) == said.format(f"its hello has {lacks} = false")
    nothing = dict.fromkeys(("releases", "hints", "resizes", "wishes", "scales"), False)
    assert Needs().unmet_by(hello(**nothing)) is None


def test_the_worker_with_the_fewest_jobs_is_next_and_a_job_that_was_lost_is_alone() -> None:
    def order(row: int) -> Order:
        return Order(start("recipe", job=row), 0, 100 + row, lambda: TaskPayload(np.ones(3)))

    assignment, workers = Assignment(2, 2), [Worker(f"w{k}", 0.0) for k in range(2)]
    for worker in workers:
        assignment.add(worker)
    got = []
    for row in range(4):  # of two with as many, the one that has waited longest
        worker = assignment.able(order(row))
        assert worker is not None
        assignment.give(worker, order(row))
        got.append(worker)
    assert got == workers * 2
    assert assignment.able(order(4)) is None
    assert assignment.take(workers[1], 1).order.job_number == 101
    assert assignment.able(order(4)) is workers[1]
    assert assignment.able(order(4).again()) is None
    assignment.take(workers[1], 3)
    assignment.give(workers[1], order(4).again())
    assert assignment.able(order(5)) is None
