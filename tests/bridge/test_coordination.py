"""Coordination of the levels, and widths of running jobs: from the command line to the tables, and against slow references."""

import re
import shlex
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from faulty_runs import PLATFORM, simulated, workload
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Rules, SeenJob, View, Workload
from bls.engine.features.hints.records import HintRecords
from bls.engine.features.releases.records import ReleaseRecords
from bls.metrics.node_states import HOST_STATES
from bls.scheduler_options import ConstraintOptions
from bridge.compare.comparison import Comparison, compare_jobs
from bridge.compare.delay_causes import CAUSES, StartedJobs, find_causes
from bridge.compare.words import _delay_line, delay_lines
from bridge.runs.record import node_columns
from bridge.scenarios.scenario import Application
from traces.base.errors import InputError
from traces.checks.faults import InvariantError
from traces.checks.ledger import check_ledger, core_bars
from traces.holdings import core_spans, holdings
from traces.ledger import Ledger
from traces.records.events import JobEvents

pytestmark = pytest.mark.whole

RELEASE = Rules(coordination="release")
FOUR = Platform((HostGroup(1, 4, 1.0),))


def small(*rows: tuple[int, int, int, int, int], als: str = "static", **options: object) -> bridge.Result:
    """Rows (number, submit, run, cores, estimate), s, on four cores."""
    given: dict[str, object] = {"als": als, "variation": 0.5, "tasks_per_core": 1, "overhead_ns": 0} | options
    return bridge.simulate(Workload.from_jobs(rows), FOUR, **given)  # type: ignore[arg-type]


def test_a_policy_sees_how_many_cores_of_a_partition_are_in_use_after_releases() -> None:
    seen = []

    class Counting:
        name = "counting"

        def decide(self, view: View) -> list[SeenJob]:
            seen.append((view.partitions[0].running_cores, 4 - view.free_cores, sum(job.cores for job in view.running)))
            return [job for job in view.waiting if job.cores <= view.free_cores][:1]

    small((1, 0, 40, 4, 40), (2, 1, 40, 2, 40), (3, 2, 40, 1, 40), bls=Counting, coordination="release")
    assert all(in_use == held for in_use, held, _ in seen)
    assert any(in_use < requested for in_use, _, requested in seen)


def test_tables_and_metrics_know_until_when_cores_were_held(tmp_path: Path) -> None:
    result = simulated(als="static", rules=Rules("easy", coordination="release"))
    ledger = result.ledger
    held = holdings(ledger)
    core_ns = int(np.sum(held.cores * (held.end_ns - held.start_ns)))
    begin, end = int(ledger.jobs.submit_ns.min()), int(ledger.jobs.end_ns.max())
    assert result.metrics["utilisation"] == pytest.approx(core_ns / (PLATFORM.n_cores * (end - begin)), abs=1e-12)
    assert result.metrics["utilisation"] < simulated(als="static", backfill="easy").metrics["utilisation"]
    busy = int(np.sum(ledger.tasks.end_ns - ledger.tasks.start_ns))
    assert core_ns >= busy  # static without overhead: held while it works, and no longer but for the last core's host
    table = result.releases
    assert list(table.columns) == ["row", "job_id", "attempt", "core", "released_ns"]
    assert (ledger.jobs.job_id[table.row] == table.job_id).all()
    spans = core_spans(ledger, ledger.jobs.started)
    until = dict(zip(zip(spans.job.tolist(), spans.core.tolist(), strict=True), spans.end_ns.tolist(), strict=True))
    rows = table[["row", "core", "released_ns"]].itertuples(index=False, name=None)
    assert all(until.pop((row, core)) == at for row, core, at in rows)
    assert all(at == ledger.jobs.end_ns[row] for (row, _), at in until.items())
    assert {"idle"} <= set(node_columns(result)["state"]) <= set(HOST_STATES)
    assert result.write_trace(tmp_path / "trace").is_file()


def test_the_story_of_a_job_says_what_it_released() -> None:
    result = small((1, 0, 10, 4, 20), (2, 1, 5, 2, 10), rules=RELEASE)
    first, second = result.story(1), result.story(2)
    assert first.count("no longer needed") == 3
    assert "job 1 releases 1 core then" in second
    # Job 3 takes what job 1 had left at its end, and what job 2 has: no core is given back twice.
    third = small((1, 0, 10, 4, 20), (2, 1, 5, 2, 10), (3, 2, 1, 4, 5), rules=RELEASE).story(3)
    assert "releases 1 core then" in third or "release 2 cores then" in third


def test_a_comparison_names_who_needed_cores_no_more() -> None:
    rows = ((1, 0, 10, 4, 20), (2, 1, 5, 2, 10))
    without, released = small(*rows), small(*rows, rules=RELEASE)
    delays = compare_jobs(without.jobs, released.jobs, ((), released.ledger.events)).delays
    assert delays.cause_a.tolist() == ["submit", "release"]
    assert delays.cause_b.tolist() == ["submit", "freed"]
    assert delays.cause_job_b.tolist() == [-1, 1]
    later = delay_lines(compare_jobs(released.jobs, without.jobs, (released.ledger.events, ())), 1, later=True)
    assert later[0].startswith("job 2 started 12.2 s later in B")
    alone = compare_jobs(released.jobs, released.jobs, (released.ledger.events, released.ledger.events))
    assert "in B it started on cores that job 1, still running, released early" in delay_lines_of_all(alone)


def delay_lines_of_all(compared: Comparison) -> str:
    return " ".join(_delay_line(compared, row) for row in range(len(compared.delays)))


def refused(records: JobEvents, ledger: Ledger, message: str, **changed: Any) -> None:
    """The check of a ledger refuses changed columns of its releases or hints."""
    columns = {column.name: np.array(getattr(records, column.name)) for column in fields(records)}
    with pytest.raises(InvariantError, match=message):
        check_ledger(ledger.with_events(type(records)(**columns | changed)))


def with_value(column: Any, at: int, value: int) -> Any:
    changed = np.array(column)
    changed[at] = value
    return changed


def test_the_check_of_a_ledger_sees_what_cannot_be() -> None:
    ledger = replace(simulated(als="static", rules=RELEASE).ledger, passes=None)
    releases = ledger.of(ReleaseRecords)
    assert releases is not None
    job, core, at = releases.job, releases.core, releases.released_ns
    row, none = int(job[0]), {"job": job[:0], "core": core[:0], "released_ns": at[:0]}
    never = min(set(range(PLATFORM.n_cores)) - {c for lo, hi in ledger.jobs.allocation(row) for c in range(lo, hi)})
    start_ns, end_ns = (int(instants[row]) for instants in (ledger.jobs.start_ns, ledger.jobs.end_ns))
    refused(releases, ledger, "when it does not run", released_ns=with_value(at, 0, end_ns))
    refused(
        releases,
        ledger,
        "while the job does not hold the core for all of this time",
        released_ns=with_value(at, 0, start_ns),
    )
    refused(releases, ledger, "which it was not given|not in the order of cores", core=with_value(core, 0, never))
    refused(releases, ledger, "is held by jobs|does two things", **none)


TOY, TOLD = (
    shlex.join([sys.executable, str(Path(__file__).with_name(name))]) for name in ("toy_peer.py", "lengths_peer.py")
)
HINT = Rules(coordination="hint")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"als_command": TOY}, "'toy' cannot follow it: its hello has releases = false; allowed: none$"),
        (
            {"als_command": TOLD, "rules": HINT},
            "'told' cannot follow it: its hello has hints = false; allowed: none, release$",
        ),
    ],
)
def test_where_it_cannot_be_it_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        simulated("pool", 3, **{"rules": RELEASE} | given)
    assert f"coordination='{given.get('rules', RELEASE).coordination}'" in str(caught.value)


def test_coordinations_and_tables_that_there_are_not() -> None:
    without = bridge.simulate(workload(), PLATFORM, als="static", keep_tasks=False)
    with pytest.raises(InputError, match="this result has no releases"):
        without.releases  # noqa: B018
    with pytest.raises(InputError, match="cores were released and no tasks were kept"):
        core_bars(bridge.simulate(workload(), PLATFORM, als="static", rules=RELEASE, keep_tasks=False).ledger)
    with pytest.raises(InputError, match="coordination='shout': unknown coordination of the levels 'shout'; known: "):
        Rules(coordination="shout")


def test_others_that_can_give_the_same() -> None:
    ours, theirs = simulated(als="gss", rules=RELEASE), simulated("pool", als="gss", als_command=TOLD, rules=RELEASE)
    assert theirs.jobs.equals(ours.jobs)
    assert theirs.releases.equals(ours.releases)


def test_the_cause_is_a_hint_if_the_releasing_job_had_one() -> None:
    """Job 1 holds all cores, and job 3 waits for one: job 1 gets a hint, and serves that one last."""
    rows = ((1, 0, 20, 4, 40), (3, 1, 5, 1, 10))
    without, hinted = (
        small(*rows, als="ss", rules=Rules(coordination=way), tasks_per_core=2) for way in ("release", "hint")
    )
    told = hinted.hints
    assert told["waiting_job_id"].tolist()[0] == 3
    compared = compare_jobs(without.jobs, hinted.jobs, ((), hinted.ledger.events))
    kinds = dict(zip(compared.delays["job_id"], compared.delays["cause_b"], strict=True))
    others = [one for one in hinted.ledger.events if not isinstance(one, HintRecords)]
    unknown = compare_jobs(without.jobs, hinted.jobs, ((), others))
    assert kinds[3] == "hinted"
    assert dict(zip(unknown.delays["job_id"], unknown.delays["cause_b"], strict=True))[3] == "freed"
    assert "received the hint that job 3 waits for 1 core: it assigns tasks to 1 of its cores last" in hinted.story(
        int(told["job_id"].iloc[0])
    )


def test_records_of_commands_to_jobs_are_checked() -> None:
    ledger = simulated(als="ss", rules=HINT).ledger
    hints = ledger.of(HintRecords)
    assert hints is not None
    last = len(hints) - 1
    row = int(hints.job[last])
    late, wide = int(ledger.jobs.end_ns[row]) + 1, int(ledger.jobs.held_cores[row]) + 1
    refused(hints, ledger, "when it does not run", command_ns=with_value(hints.command_ns, last, late))
    refused(hints, ledger, "cores are wanted", wanted=with_value(hints.wanted, last, wide))
    itself, one = with_value(hints.waiting, last, row), with_value(hints.wanted, last, 1)
    refused(hints, ledger, "does not wait for its cores", waiting=itself, wanted=one)
    twice = {column.name: getattr(hints, column.name)[[0, 0]] for column in fields(hints)}
    refused(hints, ledger, "not in the order", **twice | {"command_ns": twice["command_ns"] - [0, 1]})


Rows = list[tuple[int, int, int, int, int]]


def malleable(rows: Rows, widths: str, folder: Path, requests: str = "", **options: Any) -> bridge.Result:
    """Jobs of tasks of one second on four cores, checked."""
    (folder / "widths.csv").write_text("job_id,min_cores,max_cores\n" + widths)
    (folder / "requests.csv").write_text(requests)
    constraints = ConstraintOptions(
        malleable=folder / "widths.csv", requests=folder / "requests.csv" if requests else None
    )
    options = {"platform": Platform((HostGroup(1, 4, 4.0),)), "als": "ss", "constraints": constraints} | options
    found = bridge.simulate(Workload.from_jobs(rows), resize=options.pop("resize"), **options)
    check_ledger(found.ledger)
    return found


S = 10**9


def told(found: bridge.Result) -> list[list[int]]:
    """Which job got (1), was asked for (-1) or wished for (0) which core, or how many, and when."""
    return found.widths[["job_id", "command_ns", "core", "change"]].to_numpy().tolist()  # type: ignore[no-any-return]


PAIR = [(1, 0, 4, 2, 4), (2, 1, 1, 1, 1)]


def test_a_core_comes_with_its_amounts(tmp_path: Path) -> None:
    """Job 1 has two of three GPUs for its two cores, and is given one core more, as there is one GPU more."""
    machine = {"platform": Platform((HostGroup(1, 4, 4.0, resources={"gpu": 3}),)), "requests": "job_id,gpu\n1,1\n"}
    found = malleable(PAIR, "1,1,4\n", tmp_path, resize="expand", tasks_per_core=4, **machine)
    assert told(found) == [[1, S, 3, 1]]


def evolving(rows: Rows, phases: str, folder: Path, **options: Any) -> bridge.Result:
    """As :func:`malleable`; jobs of two cores have these phases, and job 1 evolves, and may have one to four cores."""
    text = f'[[application]]\nname = "evolving"\nmatch = {{ cores = 2 }}\nphases = [{phases}]\n'
    (folder / "apps.toml").write_text(text)
    level = Application(applications=folder / "apps.toml")
    return malleable(
        rows, "1,1,4\n", folder, **{"resize": "evolve", "tasks_per_core": 1, "application": level} | options
    )


PHASES = (
    '{ kind = "loop", als = "static", tasks = 4, cores = 2 }, { kind = "loop", als = "static", tasks = 4, cores = 0.5 }'
)


@pytest.mark.parametrize(("resize", "cause"), [("shrink", "asked"), ("evolve", "wished")])
def test_why_a_job_starts_on_cores_of_another(resize: str, cause: str, tmp_path: Path) -> None:
    rows = [(1, 0, 4, 2, 4), (2, 1, 1, 3, 1)]
    changed, rigid = (evolving(rows, PHASES, tmp_path, resize=one) for one in (resize, "none"))
    each = np.arange(2)
    late = StartedJobs.of(changed.jobs, changed.ledger.events)
    causes = find_causes(late, StartedJobs.of(rigid.jobs), each, each)
    assert [CAUSES[kind] for kind in causes.kind] == ["submit", cause]
    assert causes.job_id.tolist() == [-1, 1]
    story = changed.story(1)
    assert ("as it had to" if cause == "asked" else "as it requested fewer") in story


def test_wishes_of_running_jobs_go_before_a_head_that_does_not_fit(tmp_path: Path) -> None:
    """Job 2 came first, and needs all cores; the free ones go to job 1 all the same."""
    phases = (
        '{ kind = "loop", als = "ss", tasks = 4, cores = 1.0 }, { kind = "loop", als = "ss", tasks = 4, cores = 2.0 }'
    )
    found = evolving([(1, 0, 4, 2, 4), (2, 1, 1, 4, 1)], phases, tmp_path)
    assert told(found) == [[1, 2 * S, 4, 0], [1, 2 * S, 2, 1], [1, 2 * S, 3, 1]]
    assert found.jobs.end_ns.tolist()[0] == 3 * S + 1
    story = found.story(1)
    assert "requested 4 cores" in story
    assert "given cores 2 3" in story


@pytest.mark.parametrize(("malleable", "said", "words"), table_rows(__file__, "what_cannot_be"))
def test_what_cannot_be(malleable: str | None, said: dict[str, Any], words: str) -> None:
    workload = Workload.from_jobs([(1, 0, 4, 2, 4), (2, 1, 4, 2, 4)])
    options = said | {"rules": Rules(**{"resize": "equal"} | said.get("rules", {}))}
    with pytest.raises(InputError, match=re.escape(words)):
        bridge.simulate(workload, malleable=malleable, **options)


@pytest.mark.parametrize(("text", "words"), table_rows(__file__, "a_file_of_widths_is_checked"))
def test_a_file_of_widths_is_checked(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        malleable([(1, 0, 4, 2, 4)], text, tmp_path, resize="expand", tasks_per_core=4)
