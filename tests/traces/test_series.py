"""Queue length and busy cores over time."""

from __future__ import annotations

from hypothesis import given, settings
from ledgers import Job, ledger, ledgers, machine, never_started

from traces.ledger import Ledger
from traces.series import load_series


def test_jobs_that_were_cut_or_never_started_by_hand() -> None:
    jobs = [
        never_started(1, 2),  # as if it were not there
        # Waits for another job's end until 3, and is given all four cores of a host; cut at 9 and tried again at 12.
        Job(2, 0, 5, 9, [(0, 4)], asked=3, state="requeued", eligible=3),
        Job(2, 0, 12, 15, [(0, 4)], asked=3, attempt=1, eligible=9),
    ]
    found = load_series(ledger(machine(4), jobs))
    assert found.instant_ns.tolist() == [3, 5, 9, 12, 15]
    assert found.queue_length.tolist() == [1, 0, 1, 0, 0]
    assert found.busy_cores.tolist() == [0, 4, 0, 4, 0]
    assert len(load_series(ledger(machine(4), jobs[:1]))) == 0


@settings(max_examples=200, deadline=None)
@given(ledgers())
def test_it_counts_what_holds_after_each_instant(of: Ledger) -> None:
    jobs, found = of.jobs, load_series(of)
    rows = list(
        zip(
            jobs.eligible_ns.tolist(),
            jobs.start_ns.tolist(),
            jobs.end_ns.tolist(),
            jobs.held_cores.tolist(),
            strict=True,
        )
    )
    rows = [row for row in rows if row[1] != -1]
    expected, last = [], (0, 0)
    for instant in sorted({moment for row in rows for moment in row[:3]}):
        state = (
            sum(eligible <= instant < start for eligible, start, _, _ in rows),
            sum(cores for _, start, end, cores in rows if start <= instant < end),
        )
        if state != last:
            expected.append((instant, *state))
        last = state
    columns = (found.instant_ns.tolist(), found.queue_length.tolist(), found.busy_cores.tolist())
    assert list(zip(*columns, strict=True)) == expected
