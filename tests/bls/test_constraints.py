"""Constraints of jobs: partitions, requests for resources, windows, failures and repairs."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusing import refusals
from tables import table_rows

from bls.constraints.advance_reservations import Window, load_windows, parse_windows, windows
from bls.constraints.job_constraints import BEYOND_LIMITS, NO_PARTITION, assign, constrain, outage_columns
from bls.constraints.outages import NEVER, OutageModel, Outages, modelled_outages, outages, read_outages
from bls.constraints.resource_requests import ASKS_TOO_MUCH, Requests, fit_requests, requests
from bls.engine.features.switches.options import switch_limit
from bls.machine.partitions import Partition, Switch
from bls.machine.platform import HostGroup, Platform
from bls.scheduler_options import ConstraintOptions
from bls.workloads.workload import TOO_WIDE, Workload
from bridge import simulate
from traces.base.errors import InputError

S = 10**9
MACHINE = Platform((HostGroup(4, 4, 1.0),))
JOBS = Workload.from_jobs([(k, k, 10, 1 + k % 16, 10) for k in range(20)])


@pytest.mark.parametrize(
    ("text", "found"), [("1", (1, None)), ("3@2h", (3, 7200 * S)), ("16777215@1s", (2**24 - 1, S))]
)
def test_switch_limits(text: str, found: tuple[int, int | None]) -> None:
    assert switch_limit(text) == found


def test_partitions_and_rejects() -> None:
    machine = replace(MACHINE, partitions=(Partition("few", hosts="0-1", default=True, max_cores=6),))
    jobs, constraints = constrain(JOBS, machine, ConstraintOptions())
    assert jobs.cores.max() == 6
    assert sum(jobs.rejects.values()) == 20 - len(jobs)
    assert constraints.partition is not None
    assert constraints.partition.tolist() == [0] * len(jobs)
    assert not constraints.interchangeable(machine)
    short = replace(MACHINE, partitions=(Partition("few", hosts="0", default=True, max_time_ns=S),))
    with pytest.raises(InputError, match=r"^jobs: none of 20 jobs fits its partition: "):
        constrain(JOBS, short, ConstraintOptions())


def test_no_job_must_accept_fewer_switches_than_it_needs() -> None:
    leaves = (Switch("a", hosts="0"), Switch("b", hosts="1-3"), Switch("top", switches=("a", "b")))
    _, constraints = constrain(JOBS, replace(MACHINE, switches=leaves), ConstraintOptions(switches="1"))
    assert constraints.requests is not None
    needed = [1 if cores <= 12 else 2 for cores in JOBS.cores.tolist()]
    assert constraints.requests.switches.tolist() == needed
    with pytest.raises(InputError, match=r"^switches: the platform names no switches; give it \[\[switches\]\]$"):
        constrain(JOBS, MACHINE, ConstraintOptions(switches="1"))


def test_everything_together(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text('[[maintenance]]\nname = "m"\nbegin = "5s"\nend = "9s"\nhosts = "1-2"\n')
    (tmp_path / "f.csv").write_text("host,down_s,up_s\n0,1,2\n3,4,\n")
    (tmp_path / "r.csv").write_text("job_id,unit_cores\n3,4\n")
    jobs = replace(JOBS, preceding=np.where(JOBS.job_id == 7, 5, -1))
    said = ConstraintOptions(
        windows=tmp_path / "w.toml", failures=str(tmp_path / "f.csv"), requests=tmp_path / "r.csv", dependencies=True
    )
    assert said.names()["windows"] == str(tmp_path / "w.toml")
    jobs, constraints = constrain(jobs, MACHINE, said)
    assert constraints.dependencies is not None
    assert constraints.dependencies.depends_on.tolist() == [5 if number == 7 else -1 for number in jobs.job_id.tolist()]
    assert constraints.requests is not None
    assert constraints.requests.unit_cores.tolist() == [4 if number == 3 else 1 for number in jobs.job_id.tolist()]
    first, down, up = outage_columns(constraints.outages, constraints.windows, 4)
    # Failures of the four hosts, then their maintenance; one that is never repaired is so at an instant that never comes.
    assert first.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 4]
    assert down.tolist() == [S, 4 * S, 5 * S, 5 * S]
    assert up.tolist() == [2 * S, np.iinfo(np.int64).max, 9 * S, 9 * S]


def split(*partitions: Partition) -> Platform:
    return Platform((HostGroup(3, 4, 4.0), HostGroup(1, 2, 2.0)), partitions=partitions)


def plain_jobs(*jobs: dict[str, int]) -> Workload:
    plain = {"submit_s": 0, "run_s": 10, "cores": 1, "estimate_s": 10}
    return Workload.from_jobs([plain | {"job_id": k} | job for k, job in enumerate(jobs)])


def test_without_partitions_there_is_one_of_everything() -> None:
    found = split().partition_table
    assert (len(found), found.names, found.n_cores.tolist()) == (1, ("all",), [14])
    made = plain_jobs({"cores": 14}, {})
    same, column = assign(made, split())
    assert same is made
    assert column.tolist() == [0, 0]


ANY_JOB = st.fixed_dictionaries(
    {"cores": st.integers(1, 8), "estimate_s": st.integers(1, 4), "queue": st.integers(-1, 3), "partition": st.integers(-1, 2)}
)  # fmt: skip
ANY_LIMIT = st.none() | st.integers(3, 9)


@st.composite
def partitions(draw: st.DrawFn) -> list[Partition]:
    found = []
    for k in range(draw(st.integers(1, 3))):
        limits: dict[str, Any] = {
            key: draw(ANY_LIMIT) for key in ("max_cores", "max_running_cores", "max_cores_per_user")
        }
        limits["min_cores"] = draw(st.none() | st.integers(1, limits["max_cores"] or 3))
        numbers = {key: draw(st.lists(st.integers(0, 3), max_size=2)) for key in ("swf_queues", "swf_partitions")}
        hosts = draw(st.sampled_from(["", "0", "1-3", "0 3"]))
        time = draw(st.none() | st.integers(1, 4))
        found.append(Partition(f"p{k}", hosts, max_time_ns=time and time * S, **limits, **numbers))  # type: ignore[arg-type]
    if draw(st.booleans()):
        found.append(Partition("default", "0-2", default=True))
    return found


@settings(max_examples=1000)
@given(st.lists(ANY_JOB, min_size=1, max_size=6), partitions())
def test_agrees_with_a_slow_assignment(jobs: list[dict[str, int]], tables: list[Partition]) -> None:
    width = {"": 14, "0": 4, "1-3": 10, "0 3": 6, "0-2": 12}
    expected, counts = {}, {TOO_WIDE: 0, NO_PARTITION: 0, BEYOND_LIMITS: 0}
    for number, job in enumerate(jobs):
        homes = [
            k for k, p in enumerate(tables)
            if (p.swf_queues or p.swf_partitions)
            and (not p.swf_queues or job["queue"] in p.swf_queues)
            and (not p.swf_partitions or job["partition"] in p.swf_partitions)
        ] + [k for k, p in enumerate(tables) if p.default]  # fmt: skip
        if job["cores"] > max(width[p.hosts] for p in tables):
            counts[TOO_WIDE] += 1
        elif not homes:
            counts[NO_PARTITION] += 1
        else:
            p = tables[homes[0]]
            limits = [width[p.hosts], p.max_cores, p.max_running_cores, p.max_cores_per_user]
            too_long = job["estimate_s"] * S > (p.max_time_ns or 2**62)
            too_wide = any(limit and job["cores"] > limit for limit in limits)
            if too_wide or too_long or job["cores"] < (p.min_cores or 1):
                counts[BEYOND_LIMITS] += 1
            else:
                expected[number] = homes[0]
    if not expected:
        with pytest.raises(InputError, match=f"none of {len(jobs)} jobs fits its partition"):
            assign(plain_jobs(*jobs), split(*tables))
        return
    found, column = assign(plain_jobs(*jobs), split(*tables))
    assert dict(zip(found.job_id.tolist(), column.tolist(), strict=True)) == expected
    assert {reason: found.rejects.get(reason, 0) for reason in counts} == counts


WITH_CARDS = Platform(
    (HostGroup(2, 8, 8.0, {"memory_gb": 64, "gpu": 4}), HostGroup(2, 4, 4.0, {"memory_gb": 16})),  # type: ignore[arg-type]
    licences={"matlab": 5},  # type: ignore[arg-type]
    partitions=(Partition("thin", "2-3", swf_queues=(1,)), Partition("all", default=True)),
    switches=(Switch("a", "0"), Switch("b", "1-2"), Switch("c", "3"), Switch("top", switches=("a", "b", "c"))),
)


def jobs_that_ask(*jobs: dict[str, int]) -> Workload:
    plain = {"submit_s": 0, "run_s": 10, "cores": 4, "estimate_s": 10}
    return Workload.from_jobs([plain | {"job_id": k} | job for k, job in enumerate(jobs)])


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "r.csv"
    path.write_text(text)
    return path


def fitted(made: Workload, asked: Requests, platform: Platform = WITH_CARDS) -> list[int]:
    found, column, left = fit_requests(*assign(made, platform), asked, platform)
    assert len(found) == len(column) == len(left)
    assert found.rejects.get(ASKS_TOO_MUCH, 0) == len(made) - len(found)
    rows: list[int] = found.job_id.tolist()
    return rows


def test_by_default_jobs_ask_for_single_cores() -> None:
    made = jobs_that_ask({}, {"memory_kb": 10**9})
    asked = requests(made, WITH_CARDS)
    assert asked.plain
    assert (asked.resource_names, asked.licence_names) == (("gpu", "memory"), ("matlab",))
    assert (asked.per_unit.shape, asked.licences.shape) == ((2, 2), (2, 1))
    assert asked.unit_cores.tolist() == [1, 1]
    assert fitted(made, asked) == [0, 1]
    plain = requests(made, Platform())
    assert (plain.per_unit.shape, plain.licences.shape, plain.plain) == ((2, 0), (2, 0), True)
    with pytest.raises(ValueError, match="read-only"):
        asked.unit_cores[0] = 2


def test_the_log_s_memory_is_each_core_s() -> None:
    made = jobs_that_ask({"memory_kb": 5}, {"memory_kb": -1}, {"memory_kb": 2**62})
    asked = requests(made, WITH_CARDS, memory="swf")
    assert asked.per_unit[:, 1].tolist()[:2] == [5, 0]
    assert not asked.plain
    assert fitted(made, asked) == [0, 1]
    with pytest.raises(InputError, match="memory: no host of the platform has memory"):
        requests(made, Platform(), memory="swf")
    with pytest.raises(InputError, match="memory='sfw': unknown source 'sfw'; known: swf, none"):
        requests(made, WITH_CARDS, memory="sfw")


def test_a_file_stands_above_the_log(tmp_path: Path) -> None:
    text = "job_id, unit_cores,gpu,memory_mb,matlab,switches\n1,4,1,3,,1\n\n0,2,,,2,\n2,,,0,,\n"
    made = jobs_that_ask(*[{"memory_kb": 7}] * 4)
    asked = requests(made, WITH_CARDS, memory="swf", path=write(tmp_path, text))
    assert asked.unit_cores.tolist() == [2, 4, 1, 1]
    assert asked.per_unit.tolist() == [[0, 14], [1, 3 * 1024], [0, 0], [0, 7]]
    assert asked.licences.tolist() == [[2], [0], [0], [0]]
    assert asked.switches.tolist() == [0, 1, 0, 0]
    some = asked.take(np.array([1, 3]))
    assert (len(some), some.per_unit.tolist()) == (2, [[1, 3 * 1024], [0, 7]])


def test_the_file_may_name_jobs_that_were_not_selected(tmp_path: Path) -> None:
    path = write(tmp_path, "job_id,gpu\n0,1\n9,2\n")
    made = jobs_that_ask({})
    assert requests(made, WITH_CARDS, path=path, known=np.array([0, 9])).per_unit.tolist() == [[1, 0]]
    with pytest.raises(InputError, match=r"r\.csv: line 3: job 9 is not in jobs"):
        requests(made, WITH_CARDS, path=path)


@pytest.mark.parametrize(("line", "job", "fits"), table_rows(__file__, "jobs_that_can_never_run_are_rejects"))
def test_jobs_that_can_never_run_are_rejects(tmp_path: Path, line: str, job: dict[str, int], fits: bool) -> None:
    path = write(tmp_path, f"job_id,unit_cores,gpu,memory_gb,matlab,switches\n1,{line}\n")
    made = jobs_that_ask({}, job)
    assert fitted(made, requests(made, WITH_CARDS, path=path)) == ([0, 1] if fits else [0])


WITH_WINDOWS = Platform((HostGroup(3, 4, 4.0), HostGroup(1, 2, 2.0)))

THREE_WINDOWS = Path(__file__).with_name("tables").joinpath("three_windows.toml").read_text("utf-8")


def jobs_of(*jobs: tuple[int, int, int, int]) -> Workload:
    """Jobs (number, submit, cores, estimate)."""
    return Workload.from_jobs([(job, submit, 1, cores, estimate) for job, submit, cores, estimate in jobs])


IN_WINDOWS = ((1, 0, 2, 1800), (17, 0, 7, 3600), (20, 3000, 7, 100), (21, 7100, 1, 100), (22, 0, 9, 9))


def test_constraints_as_columns_of_the_engine(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(THREE_WINDOWS, encoding="utf-8-sig")
    found = load_windows(path, WITH_WINDOWS)
    names = ["reservation 'early'", "reservation 'course'", "maintenance 'cooling'"]
    assert [str(window) for window in found.windows] == names
    assert found.begin_ns.tolist() == [0, 3600 * S, 7200 * S]
    assert found.end_ns.tolist() == [1800 * S, 7200 * S, 86400 * S]
    assert found.is_reservation.tolist() == [1, 1, 0]
    assert found.core_first.tolist() == [0, 1, 3, 5]
    assert list(zip(found.core_lo.tolist(), found.core_hi.tolist(), strict=True)) == [
        (12, 14), (0, 6), (8, 9), (0, 4), (8, 14),
    ]  # fmt: skip
    assert found.host_first.tolist() == [0, 0, 0, 2]
    assert (found.host_lo.tolist(), found.host_hi.tolist()) == ([0, 2], [1, 4])
    assert found.of_jobs(jobs_of(*IN_WINDOWS)).tolist() == [0, 1, -1, 1, 1]  # rows are in the order of submits
    with pytest.raises(ValueError, match="read-only"):
        found.begin_ns[0] = 1


def test_a_maintenance_comes_before_a_reservation_that_begins_with_it() -> None:
    given_ones = [Window("reservation", "r", 5, 6, cores="0", jobs="1"), Window("maintenance", "m", 5, 6, hosts="1")]
    assert [window.name for window in windows(given_ones, WITH_WINDOWS).windows] == ["m", "r"]


NS = 10**9
MACHINE_OUTAGE = Platform((HostGroup(4, 2, 2.0),))


def read(tmp_path: Path, text: str) -> Outages:
    path = tmp_path / "o.csv"
    path.write_text(text)
    return read_outages(path, MACHINE_OUTAGE)


def lists(found: Outages) -> list[list[tuple[int, int]]]:
    bounds = found.first.tolist()
    pairs = list(zip(found.down_ns.tolist(), found.up_ns.tolist(), strict=True))
    return [pairs[a:b] for a, b in itertools.pairwise(bounds)]


def test_a_trace(tmp_path: Path) -> None:
    text = "host, down_s ,up_s\n3,3600,7200.5\n0,100,\n\n3,0,10\n3,10,11.0000000005\n1,0.000000001,1\n"
    found = read(tmp_path, text)
    assert lists(found) == [
        [(100 * NS, NEVER)],
        [(1, NS)],
        [],
        [(0, 10 * NS), (10 * NS, 11 * NS), (3600 * NS, 7_200_500_000_000)],
    ]
    assert (found.known_until_ns, found.model, found.n_hosts) == (NEVER, None, 4)
    assert found.extend() is found
    assert outages(str(tmp_path / "o.csv"), MACHINE_OUTAGE).down_ns.tolist() == found.down_ns.tolist()
    with pytest.raises(ValueError, match="read-only"):
        found.down_ns[0] = 1


def test_columns_may_be_in_any_order_and_there_may_be_no_outage(tmp_path: Path) -> None:
    assert lists(read(tmp_path, "up_s,host,down_s\n9,1,8\n"))[1] == [(8 * NS, 9 * NS)]
    assert lists(read(tmp_path, "host,down_s,up_s\n")) == [[], [], [], []]


def test_hosts_that_are_drained_are_kept_apart(tmp_path: Path) -> None:
    found = read(tmp_path, "host,down_s,up_s,state\n1,5,9,drain\n1,6,7,down\n2,3,,drain\n0,1,2,\n")
    assert lists(found) == [[(1 * NS, 2 * NS)], [(6 * NS, 7 * NS)], [], []]
    assert found.drained is not None
    assert lists(found.drained) == [[], [(5 * NS, 9 * NS)], [(3 * NS, NEVER)], []]
    assert read(tmp_path, "host,down_s,up_s,state\n1,5,9,down\n").drained is None


def test_a_host_s_times_are_its_own() -> None:
    model = OutageModel(10**15, 10**12, 7)
    few, many = modelled_outages(model, 2), modelled_outages(model, 5)
    assert lists(many)[:2] == lists(few)
    assert len({tuple(pairs) for pairs in lists(many)}) == 5
    assert lists(modelled_outages(OutageModel(10**15, 10**12, 8), 1)) != lists(few)[:1]


def test_numbers_do_not_change() -> None:
    found = modelled_outages(OutageModel(10**15, 10**12, 7), 1, 2)
    assert lists(found) == [[(195967930125525, 196159388196003), (3924187560288203, 3924422595835884)]]


def test_means_are_those_asked_for() -> None:
    down, up = OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 1).draw(3, 20_000)
    lasting_up = np.diff(np.concatenate(([0], up)))[:-1] - (up - down)[: len(up) - 1]
    reached = up[:-1] < NEVER
    assert np.count_nonzero(reached) > 1000
    assert np.mean((up - down)[:-1][reached]) == pytest.approx(4 * 3600 * NS, rel=0.06)
    assert np.mean(lasting_up[reached]) == pytest.approx(30 * 86400 * NS, rel=0.06)


def test_specifications() -> None:
    found = outages("mtbf:30d,mttr:4h", MACHINE_OUTAGE, seed=5)
    assert found.model == OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 5)
    assert found.n_hosts == 4
    other = outages("mtbf:30d, seed:9, mttr:4h", MACHINE_OUTAGE, seed=5)
    assert other.model == OutageModel(30 * 86400 * NS, 4 * 3600 * NS, 9)


PLAIN = Platform((HostGroup(2, 2, 2.0),))


def test_an_error_names_a_job_wider_than_the_undrained_hosts(tmp_path: Path) -> None:
    path = tmp_path / "o.csv"
    path.write_text("host,down_s,up_s,state\n0,1,,drain\n")
    workload = Workload.from_jobs([(1, 0, 5, 4, 5), (7, 2, 5, 3, 5)])
    constraints = ConstraintOptions(failures=str(path))
    with pytest.raises(InputError, match=r"stuck at job 7.*1 host is down, or drained, forever"):
        simulate(workload, platform=PLAIN, als="recorded", constraints=constraints)


def changed(text: str | list[str]) -> str:
    """The three windows with a text replaced by another; or a text of its own."""
    if isinstance(text, str):
        return text
    assert text[0] in THREE_WINDOWS
    return THREE_WINDOWS.replace(*text, 1)


def reserved(text: str | list[str], *jobs: tuple[int, int, int, int]) -> object:
    return parse_windows(changed(text), WITH_WINDOWS).of_jobs(jobs_of(*jobs))


WIDE_WINDOWS = THREE_WINDOWS.replace('jobs = "1"', 'jobs = "17"').replace('"3"', '"1-2"').replace('"0.5h"', '"1h"')

test_bad_input_is_refused = refusals(
    __file__,
    {
        "switches": (lambda text: ConstraintOptions(switches=text), "switches: "),
        "what_cannot_be": lambda said: constrain(JOBS, MACHINE, ConstraintOptions(**said)),
        "files_are_refused_with_their_line": (
            lambda text: requests(jobs_that_ask({}), WITH_CARDS, path=write(Path(), text)), "r.csv: "
        ),
        "refused_with_the_key_s_path": (lambda text: parse_windows(changed(text), WITH_WINDOWS, "my.toml"), "my.toml: "),
        "jobs_that_their_reservation_has_no_room_for": lambda job: reserved(
            THREE_WINDOWS, *(job if other[0] == 17 else other for other in IN_WINDOWS)
        ),
        "two reservations": lambda text: reserved(text, *IN_WINDOWS),
        "a_trace_is_refused_with_its_line": (lambda text: read(Path(), text), "o.csv: "),
        "bad_specifications": (lambda spec: outages(spec, MACHINE_OUTAGE), "failures: "),
        "no such trace": lambda spec: outages(spec, MACHINE_OUTAGE),
    },
    {
        "switches": [("9" * 5000, "'9999")],
        "refused_with_the_key_s_path": [
            (THREE_WINDOWS.replace('"0,2-3"', '"1,3"').replace('"2h"', '"0.2h"'),
             "reservation 'early' and maintenance 'cooling' both have core 12 at"),
            ("x = " + "[" * 5000, "not usable TOML: "),
        ],
        "two reservations": [
            (WIDE_WINDOWS, "job 17 is in two reservations: reservation 'early' and reservation 'course'")
        ],
        "no such trace": [("mtb:30d", "mtb:30d: no such file")],
    },
)  # fmt: skip
