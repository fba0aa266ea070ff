"""Both levels where the widths of running jobs change: each against its slow reference, and the reference of both at once."""

from __future__ import annotations

import random
import re
import shlex
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reference import batch, two_level
from scenarios import Case, done
from tables import table_rows

import bridge
from als.techniques import TECHNIQUES
from bls import HostGroup, Platform, Rules, Workload
from bls.constraints.options import Surroundings
from bridge.compare.delay_causes import CAUSES, StartedJobs, find_causes
from bridge.scenarios.application_level import ApplicationLevel
from traces.base.errors import InputError
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

RESIZE = ("mold", "expand", "shrink", "expand+shrink", "equal", "evolve", "evolve")

#: Those that compute with the tasks alone, and with what they learn.
NAMES = (*sorted(TECHNIQUES), "select:ss,gss,static", "select:static,fac,every=40ns")

GROUPS: tuple[tuple[tuple[int, int, float], ...], ...] = (((1, 4, 4.0),), ((2, 3, 3.0),), ((1, 2, 2.0), (1, 4, 8.0)))


def drawn(seed: int) -> tuple[Case, dict[int, tuple[int, int]], dict[str, Any]]:
    """A scenario; the widths of its jobs; and how these change."""
    chance = random.Random(seed)
    groups = chance.choice(GROUPS)
    n_cores = sum(hosts * cores for hosts, cores, _ in groups)
    scale = chance.choice((50, 1000, 10**9))
    jobs, widths = [], {}
    for number in chance.sample(range(1000), chance.randint(1, 9)):
        cores = chance.randint(1, n_cores)
        submit, run, estimate = chance.randint(0, 12), chance.randint(1, 9), chance.randint(1, 9)
        jobs.append(batch.Job(number, submit * scale, run * scale, cores, estimate * scale, None))
        rigid = chance.random() < 0.2
        widths[number] = (cores, cores) if rigid else (chance.randint(1, cores), chance.randint(cores, n_cores))
    if all(least == most for least, most in widths.values()):
        widths[jobs[0].number] = (1, n_cores) if n_cores > 1 else (1, 1)
    case = Case(
        tuple(jobs),
        groups,
        chance.choice(("fcfs", "sjf", "edf")),
        chance.choice(NAMES),
        chance.choice((0.0, 0.25, 1.0)),
        chance.randint(1, 6),
        chance.randrange(10**6),
        2.0,
        chance.choice((0, 0, scale // 40)),
    )
    how = {
        "resize": chance.choice(RESIZE),
        "cost": chance.choice((0, 0, scale // 20)),
        "releases": chance.random() < 0.3,
        "depth": chance.choice((0, 0, 1, 2)),
        "latency": chance.choice((0, 0, scale // 50)),
        "master": chance.random() < 0.25,
    }
    if how["resize"] == "evolve" or chance.random() < 0.2:
        how |= {"phases": [phase(chance) for _ in range(chance.randint(1, 4))], "steps": chance.choice((1, 1, 2, 3))}
    if how["resize"] != "mold":
        how["hints"] = chance.random() < 0.3
        how["releases"] = how["releases"] or how["hints"]
    return case, widths, how


def phase(chance: random.Random) -> two_level.Phase:
    """A phase that may wish for cores."""
    share, serial = chance.choice((1.0, 0.5, 3.0)), chance.random() < 0.2
    cores = chance.choice((0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 0.3, 4.0))
    return two_level.Phase(share / 4 if serial else share, None if serial else chance.choice(NAMES), cores)


def application(how: dict[str, Any]) -> str:
    """The phases as an application map."""
    lines = []
    for one in how["phases"]:
        kind = 'kind = "serial"' if one.technique is None else f'kind = "loop", als = "{one.technique}"'
        lines.append(f"{{ share = {one.share}, {f'cores = {one.cores}, ' if one.cores else ''}{kind} }}")
    return f"[default]\nsteps = {how['steps']}\nphases = [{', '.join(lines)}]\n"


def expected(case: Case, widths: dict[int, tuple[int, int]], how: dict[str, Any]) -> list[two_level.Done]:
    """The reference's result."""
    rows = sorted(case.jobs, key=lambda job: job.submit)
    sizes = [cores for hosts, cores, _ in case.groups for _ in range(hosts)]
    host_of = [host for host, cores in enumerate(sizes) for _ in range(cores)]
    names = ("policy", "technique", "variation", "tasks_per_core", "seed", "overhead")
    given = {name: getattr(case, name) for name in names} | {"slack": case.slack_read}
    wide = two_level.Wide([widths[job.number] for job in rows], host_of=host_of, **how)
    return two_level.simulate(rows, case.core_speeds, wide=wide, **given)


def simulated(
    case: Case, widths: dict[int, tuple[int, int]], how: dict[str, Any], folder: Path, **options: Any
) -> bridge.Result:
    """The project's result."""
    lines = [f"{number},{least},{most}" for number, (least, most) in widths.items()]
    (folder / "widths.csv").write_text("\n".join(["job_id,min_cores,max_cores", *lines]) + "\n")
    if "phases" in how:
        (folder / "applications.toml").write_text(application(how))
    level = ApplicationLevel(
        resize_ns=how["cost"],
        latency_ns=how["latency"],
        assignment="master" if how["master"] else "distributed",
        applications=folder / "applications.toml" if "phases" in how else None,
    )
    coordination = "hint" if how.get("hints") else "release" if how["releases"] else "none"
    options |= {"rules": Rules(resize=how["resize"], backfill=str(how["depth"]), coordination=coordination)}
    options |= {"surroundings": Surroundings(malleable=folder / "widths.csv"), "level": level}
    result = bridge.simulate(case.workload(), **case.options() | options)
    check_ledger(result.ledger)
    return result


def differs(seed: int, folder: Path, **options: Any) -> str:
    """Why the two differ, "" if they do not."""
    case, widths, how = drawn(seed)
    if all(least == most for least, most in widths.values()):
        return ""
    wanted, found = expected(case, widths, how), done(simulated(case, widths, how, folder, **options))
    facts = attrgetter("number", "start", "end", "cores", "chunks", "tasks")
    pairs = [(facts(one), facts(other)) for one, other in zip(wanted, found, strict=True)]
    return next((f"{case} {widths} {how}: {found}, and not {wanted}" for wanted, found in pairs if wanted != found), "")


def test_as_the_reference_in_every_coupling(tmp_path: Path) -> None:
    for seed in range(60):
        assert differs(seed, tmp_path) == "", seed
    for coupling, seeds in (("pool", 3), ("process", 1)):
        for seed in range(seeds):
            assert differs(seed, tmp_path, coupling=coupling, workers=2) == "", (coupling, seed)


Rows = list[tuple[int, int, int, int, int]]


def malleable(rows: Rows, widths: str, folder: Path, requests: str = "", **options: Any) -> bridge.Result:
    """Jobs of tasks of one second on four cores, checked."""
    (folder / "widths.csv").write_text("job_id,min_cores,max_cores\n" + widths)
    (folder / "requests.csv").write_text(requests)
    around = Surroundings(malleable=folder / "widths.csv", requests=folder / "requests.csv" if requests else None)
    options = {"platform": Platform((HostGroup(1, 4, 4.0),)), "als": "ss", "surroundings": around} | options
    found = bridge.simulate(Workload.from_jobs(rows), rules=Rules(resize=options.pop("resize")), **options)
    check_ledger(found.ledger)
    return found


S = 10**9


def told(found: bridge.Result) -> list[list[int]]:
    """Which job got (1), was asked for (-1) or wished for (0) which core, or how many, and when."""
    return found.widths[["job_id", "told_ns", "core", "change"]].to_numpy().tolist()  # type: ignore[no-any-return]


PAIR = [(1, 0, 4, 2, 4), (2, 1, 1, 1, 1)]


def test_a_core_comes_with_its_amounts(tmp_path: Path) -> None:
    """Job 1 has two of three GPUs for its two cores, and is given one core more, as there is one GPU more."""
    machine = {"platform": Platform((HostGroup(1, 4, 4.0, resources={"gpu": 3}),)), "requests": "job_id,gpu\n1,1\n"}
    found = malleable(PAIR, "1,1,4\n", tmp_path, resize="expand", tasks_per_core=4, **machine)
    assert told(found) == [[1, S, 3, 1]]


def test_the_head_takes_cores(tmp_path: Path) -> None:
    """Job 2 needs two cores, and job 1 has all four: its last two end their tasks, and go. It goes on with two."""
    rows = [(1, 0, 4, 4, 4), (2, 1, 1, 2, 1)]
    found = malleable(rows, "1,2,4\n", tmp_path, resize="shrink", tasks_per_core=2)
    assert told(found) == [[1, S, 3, -1], [1, S, 2, -1]]
    assert found.releases[["job_id", "core", "released_ns"]].to_numpy().tolist() == [[1, 2, 2 * S], [1, 3, 2 * S]]
    assert (found.jobs.start_ns.tolist(), found.jobs.end_ns.tolist()) == ([0, 2 * S], [6 * S, 3 * S])
    assert found.jobs.efficiency[0] == pytest.approx(1.0)


def evolving(rows: Rows, phases: str, folder: Path, **options: Any) -> bridge.Result:
    """As :func:`malleable`; jobs of two cores have these phases, and job 1 evolves, and may have one to four cores."""
    text = f'[[application]]\nname = "evolving"\nmatch = {{ cores = 2 }}\nphases = [{phases}]\n'
    (folder / "apps.toml").write_text(text)
    level = ApplicationLevel(applications=folder / "apps.toml")
    return malleable(rows, "1,1,4\n", folder, **{"resize": "evolve", "tasks_per_core": 1, "level": level} | options)


PHASES = (
    '{ kind = "loop", als = "static", tasks = 4, cores = 2 }, { kind = "loop", als = "static", tasks = 4, cores = 0.5 }'
)


@pytest.mark.parametrize(("resize", "cause"), [("shrink", "asked"), ("evolve", "wished")])
def test_why_a_job_starts_on_cores_of_another(resize: str, cause: str, tmp_path: Path) -> None:
    rows = [(1, 0, 4, 2, 4), (2, 1, 1, 3, 1)]
    changed, rigid = (evolving(rows, PHASES, tmp_path, resize=one) for one in (resize, "none"))
    each = np.arange(2)
    late = StartedJobs.of(changed.jobs, changed.releases, None, changed.widths)
    causes = find_causes(late, StartedJobs.of(rigid.jobs), each, each)
    assert [CAUSES[kind] for kind in causes.kind] == ["submit", cause]
    assert causes.job_id.tolist() == [-1, 1]
    story = changed.story(1)
    assert ("as it was asked to" if cause == "asked" else "as it wished for fewer") in story


def test_wishes_of_running_jobs_go_before_a_head_that_does_not_fit(tmp_path: Path) -> None:
    """Job 2 came first, and needs all cores; the free ones go to job 1 all the same."""
    phases = (
        '{ kind = "loop", als = "ss", tasks = 4, cores = 1.0 }, { kind = "loop", als = "ss", tasks = 4, cores = 2.0 }'
    )
    found = evolving([(1, 0, 4, 2, 4), (2, 1, 1, 4, 1)], phases, tmp_path)
    assert told(found) == [[1, 2 * S, 4, 0], [1, 2 * S, 2, 1], [1, 2 * S, 3, 1]]
    assert found.jobs.end_ns.tolist()[0] == 3 * S + 1
    story = found.story(1)
    assert "wished for 4 cores" in story
    assert "given cores 2 3" in story


def test_a_simulator_that_is_told_of_parts_wishes_as_they_say(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, str(Path(__file__).with_name("lengths_peer.py"))])
    cases = {one: drawn(one)[2] for one in range(100)}
    # It hears of no hints.
    seeds = [one for one, how in cases.items() if how["resize"] == "evolve" and not how.get("hints")]
    assert differs(seeds[3], tmp_path, coupling="pool", workers=1, als_command=command) == ""


@pytest.mark.parametrize(("malleable", "said", "words"), table_rows(__file__, "what_cannot_be"))
def test_what_cannot_be(malleable: str | None, said: dict[str, Any], words: str) -> None:
    workload = Workload.from_jobs([(1, 0, 4, 2, 4), (2, 1, 4, 2, 4)])
    options = said | {"rules": Rules(**{"resize": "equal"} | said.get("rules", {}))}
    with pytest.raises(InputError, match=re.escape(words)):
        bridge.simulate(workload, surroundings=Surroundings(malleable=malleable), **options)


@pytest.mark.parametrize(
    ("text", "words"),
    table_rows(__file__, "a_file_of_widths_is_checked"),
)
def test_a_file_of_widths_is_checked(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        malleable([(1, 0, 4, 2, 4)], text, tmp_path, resize="expand", tasks_per_core=4)
