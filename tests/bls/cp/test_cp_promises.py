"""What running applications promise is what dispatchers plan with: durations of jobs that run, in every coupling."""

from __future__ import annotations

import pytest

import bridge
from bls import HostGroup, Platform, Workload
from bls.cp import MODELS
from bls.scheduler_options import Rules
from traces.base.time import NS_PER_S
from traces.checks.ledger import check_ledger

#: The jobs of "Promises of running applications" on docs/reference/batch-estimates.md, minutes.
PAGE = Workload.from_jobs(
    [tuple(60 * value if k in (1, 2, 4) else value for k, value in enumerate(job))
     for job in ((1, 0, 20, 3, 60), (2, 1, 10, 4, 10), (3, 2, 30, 1, 30))]
)  # fmt: skip
FOUR = Platform((HostGroup(1, 4, 4.0),))


@pytest.mark.parametrize(("model", "search"), [*zip(MODELS, ["hinted", "lns", "list", "lns"], strict=True)])
def test_the_end_that_an_application_promises_is_planned_with(model: str, search: str) -> None:
    """Job 1 asks for 60 minutes and promises 20: job 2 is planned at 20, and job 3 would be in its way."""
    for estimates, starts in (("requested", [0, 32, 2]), ("application", [0, 20, 30])):
        bls = f"{model}:which=all,search={search}"
        found = bridge.simulate(PAGE, FOUR, bls=bls, als="recorded", estimates=estimates)
        assert (found.ledger.jobs.start_ns // (60 * NS_PER_S)).tolist() == starts


@pytest.mark.parametrize("coordination", ["release"])
def test_promises_of_tasks_are_the_same_in_every_coupling(coordination: str) -> None:
    jobs = Workload.from_jobs([(k, 2 * k, 10 + 7 * k % 13, 1 + 5 * k % 4, 60 + k) for k in range(1, 13)])
    starts = {}
    for estimates in ("application", "requested"):
        for coupling in ("inline", "process") if estimates == "application" else ("inline",):
            found = bridge.simulate(
                jobs,
                FOUR,
                bls="cp-classes:which=all,search=lns",
                als="gss",
                variation=0.5,
                estimates=estimates,
                rules=Rules(coordination=coordination),
                coupling=coupling,
            )
            check_ledger(found.ledger)
            starts[estimates, coupling] = found.ledger.jobs.start_ns.tolist()
    heard = {coupling: one for (estimates, coupling), one in starts.items() if estimates == "application"}
    assert heard["process"] == heard["inline"] != starts["requested", "inline"]
