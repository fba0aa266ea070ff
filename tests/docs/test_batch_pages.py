"""The pages on the batch level and its inputs say what the code does: names, schedules, example files, numbers."""

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from pages import ROOT, blocks, section, table
from tables import table_rows

import bridge
from bls import Allocator, HostGroup, Platform, Rules, Workload, load_platform, read_workload, sample_path
from bls.allocators import ALLOCATORS
from bls.constraints.advance_reservations import load_windows
from bls.constraints.job_constraints import assign, constrain
from bls.constraints.outages import NEVER, outages, read_outages
from bls.constraints.resource_requests import requests
from bls.machine.partitions import Partition
from bls.machine.platform import parse_platform
from bls.metrics.node_states import HOST_STATES
from bls.policies import POLICIES, policy
from bls.policies.expression import FUNCTIONS, NAMES
from bls.policies.multifactor.settings import _TABLES, SETTINGS, Billing
from bls.scheduler_options import BACKFILL, ConstraintOptions
from traces.ledger import STATES, WHY

DOCS = ROOT / "docs"
BATCH, ORDERS, BACKFILLING = (
    DOCS / "reference/batch.md",
    DOCS / "reference/batch-orders.md",
    DOCS / "reference/batch-backfilling.md",
)
PLACES, INPUTS, RESULTS = (
    DOCS / "reference/batch-allocators.md",
    DOCS / "reference/inputs.md",
    DOCS / "reference/results.md",
)

# The starts that were worked out by hand: fcfs, easy, conservative, conservative:rebuild; None: not among them.
BY_HAND = table_rows(__file__, "starts_by_hand")


def names(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


#: The kinds of backfilling of the page's drawings, by their names there.
KINDS = {
    "none": Rules(backfill="none"),
    "easy": Rules(backfill="easy"),
    "conservative": Rules(backfill="conservative"),
    "conservative:rebuild": Rules(backfill="conservative:rebuild"),
}


@pytest.mark.parametrize("number", range(1, 7))
def test_the_small_schedules_are_what_the_simulator_gives(number: int) -> None:
    """The starts of the tables, worked out by hand too, and the drawings: which core a job holds from when to when."""
    text = BACKFILLING.read_text(encoding="utf-8").partition(f"### {number}. ")[2]
    machine = Platform((HostGroup(1, int(re.search(r"^(\d) cores;", text, re.MULTILINE)[1]), 1.0),))  # type: ignore[index]
    rows = [[int(cell) for cell in row] for row in table(text)]
    workload = Workload.from_jobs((job, submit, run, cores, estimate) for job, submit, cores, estimate, run in rows)
    drawings = re.search(r"```text\n(.*?)```", text, re.DOTALL)[1].split("\n\n")  # type: ignore[index]
    drawn = {kind: drawing for drawing in drawings for kind in drawing.partition(";")[0].split(" = ")}
    assert set(drawn) == set(KINDS)
    for place, (kind, rules) in enumerate(KINDS.items()):
        jobs = bridge.simulate(workload, machine, als="recorded", rules=rules, keep_tasks=False).ledger.jobs
        found = [start // 10**9 for start in jobs.start_ns.tolist()]
        assert BY_HAND[number - 1][place] in (None, found)
        lines = drawn[kind].splitlines()
        assert lines[0].endswith(f"; starts {' '.join(map(str, found))}")
        for core, line in enumerate(reversed(lines[1:-1])):
            cells = line.partition("|")[2].rstrip("|")
            held = [row for row in range(len(rows)) if any(lo <= core < hi for lo, hi in jobs.allocation(row))]
            assert set(cells) - {".", "~"} == {str(rows[row][0]) for row in held}
            for row in held if "~" not in drawn[kind] else []:  # to scale
                span = range(found[row], int(jobs.end_ns[row]) // 10**9)
                assert [at for at, cell in enumerate(cells) if cell == str(rows[row][0])] == list(span)


def starts(
    jobs: list[tuple[int, ...]], n_cores: int, rules: Rules, allocator: Allocator = ALLOCATORS["first-fit"]
) -> list[int]:
    machine = Platform((HostGroup(1, n_cores, 1.0),))
    ran = bridge.simulate(Workload.from_jobs(jobs), machine, als="recorded", rules=rules, allocator=allocator)
    return list(ran.ledger.jobs.start_ns.tolist())


def test_counting_cores_and_naming_them_may_differ_with_easy() -> None:
    rows = [[int(cell) for cell in row] for row in table(section(PLACES, "When a job fits"))]
    jobs = [(job, submit, run, cores, run) for job, submit, cores, run, _, _ in rows]
    by_cores = replace(ALLOCATORS["first-fit"], countable=False)
    easy = Rules(backfill="easy")
    assert [start // 10**9 for start in starts(jobs, 4, easy)] == [row[4] for row in rows]
    assert [start // 10**9 for start in starts(jobs, 4, easy, by_cores)] == [row[5] for row in rows]


def test_the_names_on_the_batch_pages_are_the_codes() -> None:
    orders = [names(row[0])[0] for row in table(section(ORDERS, "Orders"))]
    assert sorted(orders) == sorted([*POLICIES, "expr:…", "FILE.py:NAME"])
    assert [names(row[0])[0] for row in table(section(PLACES, "Allocators"))] == list(ALLOCATORS)
    assert [names(row[0])[0] for row in table(section(ORDERS, "Expressions"))] == list(NAMES)
    assert set(FUNCTIONS) <= set(names(section(ORDERS, "Expressions")))
    assert {names(row[0])[0] for row in table(section(BATCH, "Why a job started"))} == set(WHY)
    ends = section(BATCH, "How long a job runs")
    assert all(f"`{state}`" in ends for state in STATES)
    assert f"--backfill {'|'.join(BACKFILL)}|K" in section(BACKFILLING, "Backfilling")
    assert all(f"--backfill {kind}`" in section(BACKFILLING, "Keep and rebuild") for kind in BACKFILL[2:])
    assert set(HOST_STATES) <= set(names(section(RESULTS, "nodes.parquet")))


def test_the_settings_on_the_inputs_page_are_the_codes() -> None:
    priorities = section(INPUTS, "Priorities")
    assert sorted(name for row in table(priorities) for name in names(row[0])) == sorted(SETTINGS)
    described = {}
    for row in table(priorities[priorities.index("| table |") :]):
        without_defaults = re.sub(r"\([^)]*\)", "", row[1])
        described[row[0].strip("`[]")] = tuple(names(without_defaults))
    tables = _TABLES | {"billing": Billing}
    assert described == {name: tuple(entry.name for entry in fields(kind)) for name, kind in tables.items()}
    keys = [name for row in table(section(INPUTS, "Partitions")) for name in names(row[0])]
    partition = {"max_time" if name == "max_time_ns" else name for name in Partition.__dataclass_fields__}
    assert sorted(keys) == sorted(partition)


def log(**first: int) -> Workload:
    """Jobs 1 to 30 of 8 cores, with what else is said of the first of them."""
    jobs = [{"job_id": k, "submit_s": k, "run_s": 60, "cores": 8, "estimate_s": 120} for k in range(1, 31)]
    jobs[0] |= first
    return Workload.from_jobs(jobs)


def test_the_platforms_on_the_inputs_page(tmp_path: Path) -> None:
    mixed, with_gpus, partitioned, switched = (parse_platform(text) for text in blocks(INPUTS, "toml")[1:5])
    assert (with_gpus.n_gpus, with_gpus.gpu_kinds, with_gpus.hosts[0].gpu_memory_gb) == (8, ("a100",), 40)
    assert mixed.resource_names == ("gpu", "memory")
    assert mixed.host_resources.tolist() == [[0, 128 * 2**20]] * 6 + [[4, 256 * 2**20]] * 2
    assert mixed.licences == (("matlab", 20),)
    assert [p.name for p in partitioned.partitions] == ["short", "batch"]
    assert partitioned.partitions[0].max_time_ns == 3600 * 10**9
    jobs, partition = assign(log(queue=2), partitioned)
    assert partition.tolist() == [0] + [1] * 29
    assert len(jobs) == 30
    assert switched.topology.names == ("left", "right", "top")
    (text,) = blocks(INPUTS, "json")
    (tmp_path / "small.json").write_text(text)
    accasim = load_platform(tmp_path / "small.json")
    assert (accasim.n_hosts, accasim.n_cores) == (20, 16 * 2 + 4 * 4)
    assert accasim.hosts[0].speed_gflops == 2 * 46.875


def test_the_requests_on_the_inputs_page(tmp_path: Path) -> None:
    mixed = parse_platform(blocks(INPUTS, "toml")[1])
    (tmp_path / "requests.csv").write_text(blocks(INPUTS, "csv")[0])
    asked = requests(log(), mixed, path=tmp_path / "requests.csv")
    assert asked.unit_cores.tolist()[:4] == [4, 1, 8, 1]
    assert asked.per_unit.tolist()[:4] == [[1, 16 * 2**20], [0, 2 * 2**20], [2, 0], [0, 0]]
    assert asked.licences[:, 0].tolist()[:4] == [0, 1, 0, 0]
    jobs, constraints = constrain(log(), mixed, ConstraintOptions(requests=tmp_path / "requests.csv"))
    assert len(jobs) == 30
    assert constraints.requests is not None


def test_the_requests_of_gpus_on_the_inputs_page(tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text(blocks(INPUTS, "csv")[1])
    machine = Platform((HostGroup(4, 64, 1.0, gpus=4, gpu="a100"), HostGroup(4, 64, 1.0, gpus=4, gpu="v100")))
    asked = requests(log(), machine, path=tmp_path / "requests.csv")
    assert asked.gpus is not None
    assert [column.tolist()[:4] for column in asked.gpus.columns] == [
        [1, 0, 1, 0],  # job 1 has eight cores: eight parts
        [0, 4, 0, 0],
        [1000, 1000, 250, 1000],
        [3, 3, 3, 3],
    ]


def test_the_windows_on_the_inputs_page(tmp_path: Path) -> None:
    (tmp_path / "windows.toml").write_text(blocks(INPUTS, "toml")[5])
    found = load_windows(tmp_path / "windows.toml", Platform())
    hour = 3600 * 10**9
    assert [window.name for window in found.windows] == ["course", "cooling"]
    assert found.begin_ns.tolist() == [9 * hour, 24 * hour]
    assert found.end_ns.tolist() == [11 * hour, 28 * hour]
    assert found.of_jobs(log()).tolist()[16:23] == [0, -1, -1, 0, 0, 0, -1]


def test_the_failures_on_the_inputs_page(tmp_path: Path) -> None:
    (tmp_path / "outages.csv").write_text(blocks(INPUTS, "csv")[2])
    found = read_outages(tmp_path / "outages.csv", Platform())
    assert found.first.tolist() == [0, 1, 1, 1, 2]
    assert found.down_ns.tolist() == [86400 * 10**9, 3600 * 10**9]
    assert found.up_ns.tolist() == [NEVER, 7_200_500_000_000]
    for spec in re.findall(r"`--failures (mtbf:\S+)`|or `(mtbf:\S+)`", section(INPUTS, "Failures"))[0]:
        assert not spec or outages(spec, Platform()).model is not None


def test_the_priorities_on_the_inputs_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "priority.toml").write_text(blocks(INPUTS, "toml")[6])
    monkeypatch.chdir(tmp_path)
    ran = bridge.simulate(read_workload(sample_path()), bls="multifactor:config=priority.toml,age=500", als="recorded")
    assert policy("multifactor:config=priority.toml").name == "multifactor"
    assert ran.metrics["state_completed"] == 320
