"""Two runs, job by job: planted delays, and a slow reference of every definition."""

import json
import tomllib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel
from hypothesis import given, settings
from hypothesis import strategies as st
from run_tables import table

import bridge
from bls import ConstraintOptions, HostGroup, Platform, Workload
from bridge.compare.comparison import Comparison, Link, chain, compare_jobs, overtakers, ranked
from bridge.compare.delay_causes import LINKS
from bridge.compare.power import parse_rates, reward_row, rewards
from bridge.compare.words import chain_table, delay_lines, overrun_lines
from traces.base.errors import InputError


def row_of(compared: Comparison, job: int, attempt: int = 0) -> int:
    delays = compared.delays
    return int(np.flatnonzero((delays["job_id"] == job) & (delays["attempt"] == attempt))[0])


def column(compared: Comparison, name: str) -> dict[int, Any]:
    return dict(zip(compared.delays["job_id"].tolist(), compared.delays[name].tolist(), strict=True))


def terms(links: list[Link]) -> list[tuple[Any, ...]]:
    names = ("job_id", "start_delta_ns", "cause", "cause_job", "cause_run_delta_ns", "cause_start_delta_ns", "order_ns")
    return [tuple(getattr(link, name) for name in names) for link in links]


CASES = tomllib.loads(Path(__file__).with_name("comparisons.toml").read_text("utf-8"))["case"]
INSTANTS = {"submit", "eligible", "start", "end"}


def rows_of(text: str) -> list[dict[str, str]]:
    header, *lines = (line.split() for line in text.strip().splitlines())
    return [dict(zip(header, (word.replace("_", " ") for word in line), strict=True)) for line in lines]


def run_of(text: str, factor: int) -> pd.DataFrame:
    """A run of a case."""
    rows = rows_of(text)
    numbers = {"job", "attempt", "cores", *INSTANTS}
    run = table(
        *(
            {name: int(word) * (factor if name in INSTANTS else 1) if name in numbers else word
             for name, word in row.items() if word != "-"}
            for row in rows
        )
    )  # fmt: skip
    if "boot_wait_ns" in rows[0]:
        run["boot_wait_ns"] = [int(row["boot_wait_ns"]) for row in rows]
    return run


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_comparison_worked_out_by_hand(case: dict[str, Any]) -> None:
    factor = 10**9 if case.get("unit") == "s" else 1
    a, b = (run_of(case[name], factor) for name in "ab")
    compared = compare_jobs(a, b)
    if "delays" in case:
        header = case["delays"].split("\n")[0].split()[1:]
        shown = {str(job): [str(column(compared, name)[job]) for name in header] for job in compared.delays["job_id"]}
        assert shown == {row["job"]: [row[name] for name in header] for row in rows_of(case["delays"])}
    for job, text in case.get("chain", {}).items():
        links = terms(chain(compared, row_of(compared, *map(int, job.split(".")))))
        found = [(*one[:1], one[1] / factor, *one[2:4], *(ns / factor for ns in one[4:])) for one in links]
        assert found == [tuple(word if word.isalpha() else int(word) for word in row.values()) for row in rows_of(text)]
    for words, jobs in case.get("overtakers", {}).items():
        job, run = words.split(" in ")
        passed = overtakers(compared, row_of(compared, int(job)), run)
        assert [compared.delays["job_id"].iloc[row] for row in passed] == jobs
    lines = {
        "later": delay_lines(compared, 5, later=True),
        "earlier": delay_lines(compared, 5, later=False),
        "shorter": overrun_lines(compared, 5, later=False),
        "longer": overrun_lines(compared, 5, later=True),
    }
    for name in lines.keys() & case.keys():
        assert lines[name] == case[name]
    if "backwards" in case:
        back = compare_jobs(b, a)
        assert [*delay_lines(back, 5, later=True), *delay_lines(back, 5, later=False)] == case["backwards"]
    for job, last in case.get("last", {}).items():
        assert chain_table(compared, row_of(compared, int(job))).splitlines()[-len(last) :] == last


A = run_of("job submit start end\n1 0 0 10\n2 1 10 20\n3 2 20 25", 1)


def test_the_largest_moves_come_first() -> None:
    earlier = compare_jobs(A, run_of("job submit start end\n1 0 0 1\n2 1 1 2\n3 2 2 7", 1))
    assert [ranked(earlier, "start_delta_ns", 5, later=later) for later in (False, True)] == [[2, 1], []]
    later = compare_jobs(A, run_of("job submit start end\n1 0 0 15\n2 1 15 28\n3 2 28 33", 1))
    assert ranked(later, "later_ns", 5, later=True) == [0, 1]


def test_columns_of_what_only_some_runs_have() -> None:
    assert not {"boot_wait_b_ns", "started_because_a", "cut_because_a"} & set(compare_jobs(A, A).delays)
    said = compare_jobs(A.assign(started_because=["", "x", "x"]), A.assign(started_because=["y", "x", "x"])).delays
    assert said.started_because_a.tolist() == ["", "x", "x"]
    assert said.started_because_b.tolist() == ["y", "x", "x"]


def preceded(end: int, start: int, **more: Any) -> pd.DataFrame:
    return table(
        {"job": 1, "start": 0, "end": end, "allocation": "0", "cores": 1},
        {"job": 2, "submit": 3, "eligible": start, "start": start, "end": start + 4, "allocation": "1", "cores": 1},
        {"job": 3, "start": 0, "end": more.get("other", 99), "allocation": "2", "cores": 1},
    )


def test_a_dependency_is_named_where_the_columns_tell_it() -> None:
    compared = compare_jobs(preceded(5, 5), preceded(9, 9))
    assert terms(chain(compared, 1)) == [(2, 4, "dependency", 1, 4, 0, 0), (1, 0, "submit", -1, 0, 0, 0)]
    # In A the job before it had ended before it was submitted.
    compared = compare_jobs(preceded(2, 3), preceded(9, 9))
    assert terms(chain(compared, 1))[0] == (2, 6, "dependency", 1, 7, 0, -1)
    # A think time after its end; two that could be it; one that ended elsewhere in A.
    for a, b in [
        (preceded(5, 6), preceded(9, 10)),
        (preceded(5, 5, other=5), preceded(9, 9, other=9)),
        (preceded(4, 5), preceded(9, 9)),
    ]:
        compared = compare_jobs(a, b)
        delta = b["start_ns"][1] - a["start_ns"][1]
        assert terms(chain(compared, 1)) == [(2, delta, "eligible", -1, 0, 0, 0)]
    # One that is put back into the queue has not left.
    for state in ("requeued", "completed"):
        a, b = (
            pd.concat([plain, table({"job": 4, "start": 0, "end": end, "state": how})])
            for plain, end, how in ((preceded(5, 5), 5, state), (preceded(9, 9), 9, "requeued"))
        )
        assert column(compare_jobs(a, b), "cause_b")[2] == "dependency"
    # The other one ended as it started in B alone.
    compared = compare_jobs(preceded(5, 5, other=4), preceded(9, 9, other=9))
    assert column(compared, "cause_job_b")[2] == 1


@pytest.mark.parametrize("other", ["", "all its cores were lost, core 1 last"])
def test_cores_that_were_lost_in_one_run_or_otherwise_are_the_cause(other: str) -> None:
    """For every link: a release, a dependency, another attempt; in whichever run they were lost."""
    lost = "all its cores were lost, core 3 last"

    def run(end: int, because: str, state: str = "failed", again: bool = False) -> pd.DataFrame:
        later = {"submit": 3, "start": end, "cores": 1}
        rows = [
            {"job": 1, "start": 0, "end": end, "state": state, "cut_because": because, "cores": 1, "allocation": "0"},
            later | {"job": 2, "end": end + 4, "allocation": "0"},
            later | {"job": 3, "eligible": end, "end": end + 9, "allocation": "1"},
        ]
        more = {"job": 1, "attempt": 1, "eligible": end, "start": end, "end": 20, "cores": 1, "allocation": "0"}
        return table(*rows, *([more] if again else []))

    a, b = run(5, other), run(9, lost)
    for early, late in ((a, b), (b, a)):
        compared = compare_jobs(early, late)
        assert column(compared, "cause_a") == column(compared, "cause_b") == {1: "submit", 2: "lost", 3: "lost"}
        assert [link.cause_job for link in chain(compared, 1)] == [1, -1]
    compared = compare_jobs(a, b)
    assert column(compared, "cut_because_a") == {1: other, 2: "", 3: ""}
    assert column(compared, "cut_because_b") == {1: lost, 2: "", 3: ""}
    assert column(compared, "chain_run_ns") == {1: 0, 2: 4, 3: 4}
    compared = compare_jobs(run(5, other, "requeued", again=True), run(9, lost, "requeued", again=True))
    assert terms(chain(compared, row_of(compared, 1, 1)))[0] == (1, 4, "lost", 1, 4, 0, 0)
    # Alike in both runs it is as any other end.
    alike = compare_jobs(run(5, lost), run(9, lost))
    assert column(alike, "cause_b") == {1: "submit", 2: "release", 3: "dependency"}
    assert "cut_because_a" in alike.delays


def test_what_is_not_compared_is_counted() -> None:
    a = run_of("job start end\n1 0 10\n2 -1 -1\n3 20 25\n4 -1 -1\n5 1 2", 1)
    b = run_of("job start end\n6 1 2\n4 -1 -1\n3 -1 -1\n2 4 5\n1 0 10", 1)
    compared = compare_jobs(a, b)
    assert compared.delays["job_id"].tolist() == [1]
    assert compared.counts == {
        "compared": 1,
        "later": 0,
        "earlier": 0,
        "same": 1,
        "only_a": 1,
        "only_b": 1,
        "started_only_a": 1,
        "started_only_b": 1,
        "never_started": 1,
    }
    nothing = compare_jobs(run_of("job start end\n1 -1 -1", 1), run_of("job start end\n1 5 6", 1))
    assert len(nothing.delays) == 0
    assert nothing.delays.columns.tolist() == compared.delays.columns.tolist()


@pytest.mark.parametrize(
    ("a", "b", "words"),
    [
        (A, run_of("job submit start end\n1 0 0 10\n2 2 10 20", 1), "job 2 was submitted at 1 ns in A, and 2 in B"),
        (A, run_of("job submit start end cores\n3 2 0 10 5\n2 1 0 10 6", 1), "job 2 requests 4 cores in A, and 6 in B"),
        (A, run_of("job start end\n7 0 10", 1), "no job in common"),
        (A, run_of("job start end\n1 0 10\n1 0 10", 1), "B: attempt 0 of job 1 is there twice"),
        (A, run_of("job submit start end\n1 0 0 10\n2 1 11 10", 1), "B: job 2 ends before it starts"),
        (A.drop(columns="eligible_ns"), A, "A: no column eligible_ns"),
        (A, A.astype({"start_ns": float}), "B: column start_ns has values that are no whole numbers"),
    ],
)
def test_impossible_comparisons_are_refused(a: pd.DataFrame, b: pd.DataFrame, words: str) -> None:
    with pytest.raises(InputError) as error:
        compare_jobs(a, b)
    assert words in str(error.value)


@st.composite
def machines(draw: st.DrawFn) -> tuple[pd.DataFrame, pd.DataFrame, list[int | None]]:
    """Two runs of jobs with other run times or in another order, of which the second may lack a job, and their dependencies."""
    n_cores, n = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    before = [draw(st.none() | st.integers(0, job - 1)) if job and draw(st.booleans()) else None for job in range(n)]
    jobs = [
        {"job_id": job, "submit_s": draw(st.integers(0, 6)), "cores": draw(st.integers(1, n_cores)), "estimate_s": 9}
        | ({} if preceding is None else {"preceding": preceding, "think_s": 0})
        for job, preceding in enumerate(before)
    ]

    def run(policies: list[str]) -> pd.DataFrame:
        log = Workload.from_jobs([job | {"run_s": draw(st.integers(1, 5))} for job in jobs])
        way = {"bls": draw(st.sampled_from(policies)), "backfill": draw(st.sampled_from(["none", "easy"]))}
        constraints = ConstraintOptions(dependencies=True)
        machine = Platform((HostGroup(1, n_cores, float(n_cores)),))
        found = bridge.simulate(log, machine, als="recorded", constraints=constraints, **way).jobs
        return found.sort_values("job_id").reset_index(drop=True)

    a, b = run(["fcfs"]), run(["fcfs", "sjf", "ljf"])
    lost = draw(st.lists(st.integers(0, n - 1), max_size=1)) if n > 1 else []
    return a, b.drop(index=lost), before


def slow_release(late: pd.DataFrame, early: dict[int, Any], job: Any) -> int:
    """By the definition, a job at a time: the job at whose end this one started, −1 if nobody ended then."""

    def cores(text: str) -> set[int]:
        return {core for part in text.split() for core in range(int(part.split("-")[0]), int(part.split("-")[-1]) + 1)}

    there = [k for k in late.itertuples() if k.end_ns == job.start_ns and k.start_ns < k.end_ns]
    took = [k for k in there if cores(k.allocation) & cores(job.allocation)] or there
    took.sort(
        key=lambda k: (
            k.job_id not in early,
            -(k.end_ns - early[k.job_id].end_ns) if k.job_id in early else 0,
            k.job_id,
        )
    )
    return took[0].job_id if took else -1


@settings(deadline=None, max_examples=300)
@given(machines())
def test_every_delay_is_the_sum_of_its_chain(drawn: tuple[pd.DataFrame, pd.DataFrame, list[int | None]]) -> None:
    *runs, before = drawn
    compared = compare_jobs(*runs)
    delays = compared.delays
    sums = delays["chain_run_ns"] + delays["chain_order_ns"] + delays["root_start_delta_ns"]
    assert sums.tolist() == delays["start_delta_ns"].tolist()
    assert (delays["start_delta_ns"] + delays["run_delta_ns"]).tolist() == delays["end_delta_ns"].tolist()
    tables = [{row.job_id: row for row in run.itertuples()} for run in runs]
    members: dict[int, set[int]] = {}
    for row in range(len(delays)):
        links = chain(compared, row)
        members[row] = {link.row for link in links[1:]}
        assert len(members[row]) == len(links) - 1 == delays["chain_links"][row]  # nobody twice
        late = int(delays["chain_of"][row] == "B")
        assert late == (delays["start_delta_ns"][row] >= 0)
        for link, following in zip(links, [*links[1:], None], strict=True):
            assert (link.cause in LINKS) == (following is not None)
            if following is None:
                assert link.start_delta_ns == delays["root_start_delta_ns"][row]
                continue
            assert following.job_id == link.cause_job
            assert link.start_delta_ns == link.cause_run_delta_ns + link.cause_start_delta_ns + link.order_ns
            assert tables[late][link.job_id].start_ns == tables[late][link.cause_job].end_ns
    for late, (name, run, other) in enumerate((("a", runs[0], tables[1]), ("b", runs[1], tables[0]))):
        for row, number in enumerate(delays["job_id"].tolist()):
            job = tables[late][number]
            cause, by = delays[f"cause_{name}"][row], delays[f"cause_job_{name}"][row]
            if job.start_ns == job.eligible_ns:
                assert cause in ("submit", "eligible", "dependency")
                assert (cause == "submit") == (job.eligible_ns == job.submit_ns)
                assert by == (before[number] if cause == "dependency" else -1)
            else:
                assert by == slow_release(run, other, job)
                assert cause == ("pass" if by < 0 else "release" if by in other else "unmatched")
    for name, sign in (("later", 1), ("earlier", -1)):
        moved = (sign * delays["start_delta_ns"] > 0).tolist()
        for row in range(len(delays)):
            count = sum(row in members[other] for other in range(len(delays)) if moved[other])
            assert delays[f"{name}_jobs"][row] == count
            assert delays[f"{name}_ns"][row] == count * delays["run_delta_ns"][row]


H = 3600 * 10**9
NAMES = ["eligible_ns", "start_ns", "end_ns", "cores", "allowed"]


def jobs(rows: list[tuple[int, int, int, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES) * [H, H, H, 1, 1]


def test_by_hand() -> None:
    """Job 1 runs 2 h longer on 4 cores and waits 1 h longer, job 2 waits longer and runs shorter, job 3 may not be slowed,
    job 4 gains."""
    before = jobs([(0, 0, 2, 4, 0), (0, 1, 5, 2, 0), (0, 0, 1, 8, 0), (0, 3, 9, 1, 0)])
    after = jobs([(0, 1, 5, 4, 1), (0, 4, 5, 2, 1), (0, 9, 19, 8, 0), (0, 0, 1, 1, 1)])
    both = np.arange(4), np.arange(4)
    found = rewards(parse_rates("0.5:0.25"), (before, after), both, (100.0, 80.0))
    assert found.total == Fraction(4 * 2, 2) + Fraction(4 * 1 + 2 * 3, 4)
    assert (found.jobs, found.allowed_jobs, found.saved) == (2, 3, 13.5)
    assert reward_row(found) == ("rewards", "6.50 to 2 of 3 allowed jobs; 13.50 of cost saved beyond that")
    only_run = rewards(parse_rates("0.5:0"), (before, after), both, (100.0, None))
    assert (only_run.total, only_run.jobs, only_run.saved) == (4, 1, None)
    for text in ("", "1", "1:2:3", "-1:2", "1:", "nan:1", "1e3:1", "1000001:0", "0.0000001:0", "²:1"):
        with pytest.raises(
            InputError, match=r"^--reward: .*; allowed: for a core-hour of running longer, .*, as 0.02:0.005$"
        ):
            parse_rates(text)
    nobody = rewards(parse_rates("1:1"), (before.iloc[:0], after.iloc[:0]), (both[0][:0], both[1][:0]), (None, None))
    assert (nobody.total, nobody.jobs, nobody.allowed_jobs) == (0, 0, 0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("limits.csv").write_text("from,to,limit_w\n1h,30h,30%\n")
    Path("signals.csv").write_text("from,price_per_kwh\n0,0.3\n")
    words = ("run", "sample", "--als", "recorded", "--select", "first:60", "--platform", "demand-response")
    limits = ("--limits", "limits.csv")
    for fallback in ("none", "dvfs"):
        succeeds(*words, "--trace", "none", *limits, "--fallback", fallback, "--out", fallback)
    costs = ("--reward", "0.02:0.005", "--signals", "signals.csv", "--pue", "1.5")
    said = succeeds("compare", "none", "dvfs", *costs, "-o", "compared")
    assert "allowed jobs; " in said.out
    written = json.loads(Path("compared/comparison.json").read_text())["power"]["rewards"]
    assert (written["run_rate"], written["wait_rate"], written["allowed_jobs"]) == (0.02, 0.005, 60)
    assert 0 <= written["jobs"] <= 60
    assert written["saved"] is not None
    succeeds(*words, "--trace", "none", "--out", "plain")
    wrong = twolevel("compare", "plain", "dvfs", "--reward", "0.02:0.005")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--reward: the power of one of the runs is not known" in wrong.err
