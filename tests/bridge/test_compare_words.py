"""The lines that tell a chain: what each cause is called, and what is left out of a long one."""

from __future__ import annotations

from typing import Any

import pandas as pd
from run_tables import table

from bridge.compare.comparison import compare_jobs
from bridge.compare.words import chain_table, delay_lines, overrun_lines

S = 10**9


def runs(*rows: dict[str, Any]) -> pd.DataFrame:
    """A table whose instants are given in s."""
    instants = ("submit", "eligible", "start", "end")
    return table(*({name: value * S if name in instants else value for name, value in row.items()} for row in rows))


def later(a: pd.DataFrame, b: pd.DataFrame) -> list[str]:
    return delay_lines(compare_jobs(a, b), 5, later=True)


def test_a_job_that_waited_for_nobody() -> None:
    a = runs({"job": 1, "start": 1, "end": 2}, {"job": 2, "eligible": 3, "start": 3, "end": 4})
    b = runs({"job": 1, "start": 61, "end": 62}, {"job": 2, "eligible": 63, "start": 63, "end": 64})
    assert later(a, b) == [
        "job 1  +60 s: no job ended as it started in B",
        "job 2  +60 s: it started as soon as it was eligible in B",
    ]


def test_an_attempt_that_only_one_run_has() -> None:
    cut = {"job": 1, "start": 0, "end": 5, "state": "requeued"}
    again = {"job": 1, "attempt": 1, "eligible": 5, "start": 5}
    a = runs(cut, {**again, "end": 9}, {"job": 2, "start": 9, "end": 10})
    once_more = {**again, "end": 6, "state": "requeued"}
    b = runs(cut, once_more, {**again, "attempt": 2, "start": 8, "end": 13}, {"job": 2, "start": 13, "end": 14})
    assert later(a, b) == ["job 2  +4 s: in B it waited for 1 attempt 2, which only B ran"]
    assert delay_lines(compare_jobs(b, a), 5, later=False) == [
        "job 2  −4 s: in A it waited for 1 attempt 2, which only A ran"
    ]


def test_a_retry_and_an_overrun_of_an_attempt() -> None:
    first = {"job": 1, "start": 0, "state": "requeued"}
    a = runs(
        {**first, "end": 5},
        {"job": 1, "attempt": 1, "eligible": 5, "start": 5, "end": 9},
        {"job": 2, "start": 9, "end": 10},
    )
    b = runs(
        {**first, "end": 5},
        {"job": 1, "attempt": 1, "eligible": 5, "start": 5, "end": 12},
        {"job": 2, "start": 12, "end": 13},
    )
    compared = compare_jobs(a, b)
    told = "job 2  +3 s: in B it waited for 1 attempt 1 (ran 3 s longer), which waited for 1 (ran as long); "
    assert delay_lines(compared, 5, later=True) == [told + "the first, 1, started at the same instant"]
    assert overrun_lines(compared, 5, later=True) == ["job 1 attempt 1 ran 3 s longer: 1 job later, by 3 s in all"]
    assert overrun_lines(compared, 5, later=False) == []
    lines = chain_table(compared, 2).splitlines()
    assert lines[0] == "chain of job 2 in B, times in s"
    assert lines[2].split() == [
        "2",
        "4",
        "+3.000000000",
        "release",
        "1",
        "attempt",
        "1",
        "+3.000000000",
        *["0.000000000"] * 2,
    ]
    assert lines[3].split()[:6] == ["1", "attempt", "1", "4", "0.000000000", "retry"]


def test_a_long_chain_is_summed() -> None:
    a = runs(*({"job": job, "start": job, "end": job + 1} for job in range(7)))
    ends = [0, 1, 42, 43, 44, 45, 46, 49]  # job 1 runs 40 s longer, job 6 by 2 s
    b = runs(
        *({"job": job, "start": ends[job], "end": ends[job + 1]} for job in range(7)), {"job": 9, "start": 0, "end": 1}
    )
    assert later(a, b)[0] == (
        "job 2  +40 s: in B it waited for 1 (ran 40 s longer), which waited for 0 (ran as long); "
        "the first, 0, started at the same instant"
    )
    assert later(a, b)[4] == (
        "job 6  +40 s: in B it waited for 5 (ran as long), which waited for 4 (ran as long), which waited for 3 (ran as "
        "long), and so on, 3 more (runs +40 s, most +40 s of 1; order 0 s); the first, 0, started at the same instant"
    )


def test_a_root_that_moved() -> None:
    a = runs(
        {"job": 1, "start": 1, "end": 2, "cores": 7}, {"job": 2, "start": 2, "end": 3}, {"job": 3, "start": 5, "end": 9}
    )
    b = runs(
        {"job": 1, "start": 2, "end": 3, "cores": 7}, {"job": 2, "start": 3, "end": 4}, {"job": 3, "start": 1, "end": 5}
    )
    assert later(a, b) == [
        "job 1  +1 s: no job ended as it started in B; overtaken by 1 job: 3 (4 cores)",
        "job 2  +1 s: in B it waited for 1 (ran as long); the first, 1, started 1 s later in B",
    ]


LOST = "all its cores were lost, core 3 last"


def test_an_attempt_whose_cores_were_lost_in_one_run_is_named_with_that() -> None:
    whole = {"job": 1, "start": 0, "end": 8}
    cut = {"job": 1, "start": 0, "end": 5, "state": "failed", "cut_because": LOST}
    a = runs(whole, {"job": 2, "submit": 1, "start": 8, "end": 9}, {"job": 3, "submit": 1, "start": 9, "end": 10})
    b = runs(cut, {"job": 2, "submit": 1, "start": 5, "end": 6}, {"job": 3, "submit": 1, "start": 6, "end": 7})
    told = f"in A it waited for 1 (ran 3 s shorter; cut in B: {LOST}); the first, 1, started at the same instant"
    compared = compare_jobs(a, b)
    assert delay_lines(compared, 5, later=False) == [
        f"job 2  −3 s: {told}",
        f"job 3  −3 s: in A it waited for 2 (ran as long), which waited for 1 (ran 3 s shorter; cut in B: {LOST}); "
        "the first, 1, started at the same instant",
    ]
    assert overrun_lines(compared, 5, later=False) == [
        f"job 1 ran 3 s shorter (cut in B: {LOST}): 2 jobs earlier, by 6 s in all"
    ]
    lines = chain_table(compared, 2).splitlines()
    assert [line.split()[3] for line in lines[2:5]] == ["release", "lost", "submit"]
    assert lines[-1] == f"job 1 was cut in B: {LOST}"
    assert later(b, a)[0] == (
        f"job 2  +3 s: in B it waited for 1 (ran 3 s longer; cut in A: {LOST}); the first, 1, started at the same instant"
    )


def test_an_attempt_that_only_one_run_has_as_the_one_before_lost_its_cores() -> None:
    a = runs({"job": 1, "start": 0, "end": 8}, {"job": 2, "submit": 1, "start": 8, "end": 9})
    b = runs(
        {"job": 1, "start": 0, "end": 5, "state": "requeued", "cut_because": LOST},
        {"job": 1, "attempt": 1, "eligible": 5, "start": 5, "end": 13},
        {"job": 2, "submit": 1, "start": 13, "end": 14},
    )
    compared = compare_jobs(a, b)
    assert delay_lines(compared, 5, later=True) == [
        f"job 2  +5 s: in B it waited for 1 attempt 1, which only B ran, as 1 was cut in B: {LOST}"
    ]
    assert chain_table(compared, 1).splitlines()[-1] == f"job 1 was cut in B: {LOST}"


def test_what_a_policy_says_of_a_start_is_told_where_the_runs_differ() -> None:
    a = runs({"job": 1, "start": 1, "end": 2}, {"job": 2, "start": 3, "end": 4, "started_because": "planned"})
    b = runs(
        {"job": 1, "start": 61, "end": 62, "started_because": "went past 2"},
        {"job": 2, "start": 64, "end": 65, "started_because": "planned"},
    )
    compared = compare_jobs(a, b)
    assert delay_lines(compared, 5, later=True) == [
        "job 2  +61 s: no job ended as it started in B",
        "job 1  +60 s: no job ended as it started in B; the policy says in B: went past 2",
    ]
    assert compared.delays.started_because_a.tolist() == ["", "planned"]
    assert compared.delays.started_because_b.tolist() == ["went past 2", "planned"]
    assert chain_table(compared, 0).splitlines()[-1] == "job 1: the policy says in B: went past 2"
    assert (
        "started_because_a"
        not in compare_jobs(a.drop(columns="started_because"), a.drop(columns="started_because")).delays
    )
