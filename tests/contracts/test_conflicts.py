"""Every pair of features that the tables of conflicts have is refused, in the table's words; and the page has all of them."""

import re
from pathlib import Path
from typing import Any

import pytest
from command_line import twolevel

import bridge
from bls import Batch, BatchSimulator, ConstraintOptions, HostGroup, Platform, Rules, Workload, allocator, policy
from bls.conflicts import RUN, STREAM
from bls.constraints.job_constraints import constrain
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition, Switch
from bls.stream import check_streamed
from bridge.options.output import RunOutput
from bridge.runs.afterwards import FairStarts
from bridge.scenarios.conflicts import COMPANIONS, REPLAY, REPLAYED_JOBS, SLURM_CELLS, TYPED, check_used
from bridge.schedulers import decided
from bridge.spelling import on_command_line
from tools import conflicts
from traces import InputError
from traces.base.options import Conflict, check, values

POWER = HostPower(50, [(1, 100), (0.5, 70)], shutdown=("5s", 1), boot=("5s", 1))
MACHINE = Platform(
    (HostGroup(2, 2, 1.0, power=POWER),),
    licences={"solver": 1},  # type: ignore[arg-type]
    switches=(Switch("low", "0-1"),),
)
DIVIDED = Platform((HostGroup(2, 2, 1.0),), partitions=(Partition("half", hosts="0", default=True),))
JOBS = [(1, 0, 60, 2, 60), (2, 5, 30, 2, 60), (3, 9, 30, 1, 60)]
AFTER = {"job_id": 4, "submit_s": 9, "run_s": 30, "cores": 1, "preceding": [1, 2]}
FILES = {
    "drains.csv": "host,down_s,up_s,state\n0,1,2,drain\n",
    "fails.csv": "host,down_s,up_s\n0,1,2\n",
    "licences.csv": "job_id,solver\n1,1\n",
    "units.csv": "job_id,unit_cores\n1,2\n",
    "windows.toml": '[[maintenance]]\nname = "m"\nbegin = "500s"\nend = "900s"\nhosts = "1"\n',
    "applications.toml": "[default]\ntasks = 3\n",
    "graphs.toml": '[default]\ngraph = "chain:tasks=3"\n',
    "token": "0" * 64,
}
TABLES = [row for rows in conflicts.TABLES.values() for row in rows]
PAIRS = [on_command_line(f"{row.first.name} × {row.second.name}") for row in TABLES]


class Decides:
    """A policy that decides in Python."""

    name = "mine"

    def decide(self, view: Any) -> list[Any]:
        return list(view.queue)


class Directs(Decides):
    """One that changes how jobs run."""

    directs = ("speeds",)


class Widths(Decides):
    """One that may say how wide jobs are."""

    directs = ("widths",)


class Unaware(Decides):
    """One that knows nothing of something."""

    def __init__(self, what: str) -> None:
        self.unaware_of = (what,)


class Follows(Decides):
    """One that keeps books of its own."""

    def finish(self, view: Any) -> None:
        pass


PLUG_INS = {one.__name__.upper(): one for one in (Decides, Directs, Widths, Unaware, Follows)}


def refused(row: Conflict, given: dict[str, Any]) -> None:
    name, *unaware = str(given.get("bls")).split(":")
    if name in PLUG_INS:
        given["bls"] = PLUG_INS[name](*unaware)
    jobs = Workload.from_jobs([*JOBS, AFTER] if given.pop("several", False) else JOBS)
    machine = DIVIDED if given.pop("divided", False) else MACHINE
    if row in TYPED:
        check(TYPED, values(bridge.Scenario()) | values(RunOutput()) | given)
    elif row in SLURM_CELLS:
        check(SLURM_CELLS, given)
    elif row in REPLAYED_JOBS:
        ready = bridge.ReadyScenario.of(jobs, machine, decided(bridge.Scenario.flat(**given)))
        check(REPLAYED_JOBS, ready.constraints.dependencies)
    elif row in REPLAY:
        check(REPLAY, given)
    elif row in COMPANIONS:
        check_used([values(bridge.Scenario()) | {"bls": "fcfs"} | given])
    elif row in STREAM:
        scenario = decided(bridge.Scenario.flat(als="recorded", **given))
        ready = bridge.ReadyScenario.of(jobs, machine, scenario)
        check_streamed(ready.policy, scenario.batch, ready.constraints)
    elif row in RUN and given.get("als") == "recorded":  # the command line and Python say so before there are jobs
        jobs, asked = constrain(jobs, machine, ConstraintOptions(malleable="1"))
        run = {"rules": Rules(resize=given["resize"]), "constraints": asked, "recorded": True}
        BatchSimulator(jobs, machine, policy("fcfs"), allocator("first-fit"), **run)
    elif given.pop("fair_start", False):
        FairStarts(bridge.ReadyScenario.of(jobs, machine, decided(bridge.Scenario.flat(**given)))).check()
    else:
        bridge.simulate(jobs, machine, **given)


@pytest.mark.parametrize("row", TABLES, ids=PAIRS)
def test_a_conflict_is_refused(row: Conflict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
        Path(name).chmod(0o600)
    with pytest.raises(InputError) as caught:
        refused(row, {**row.first.example, **row.second.example, **row.example})
    first, second = (one.given if isinstance(one.given, str) else "\x00" for one in (row.first, row.second))
    said = row.said(first or row.first.name, second or row.second.name)
    assert re.fullmatch(re.escape(said).replace("\0", ".*"), caught.value.text), str(caught.value)


def test_the_page_has_all_of_them() -> None:
    assert conflicts.PAGE.read_text(encoding="utf-8") == conflicts.page()  # python -m tools.conflicts


def test_each_surface_spells_the_same_error(tmp_path: Path) -> None:
    given = {"workload": Workload.from_jobs(JOBS), "machine": bridge.Machine(MACHINE)}
    with pytest.raises(InputError, match=r"^slack=3: bls='sjf' reads no deadlines; allowed: edf$"):
        bridge.simulate(given["workload"], MACHINE, bls="sjf", slack=3.0)
    with pytest.raises(InputError, match=r"^batch.slack=3: batch.policy='sjf' reads no deadlines; allowed: edf$"):
        bridge.simulate(bridge.Scenario(**given, batch=Batch(policy="sjf", slack=3.0)))
    ran = twolevel("run", "sample", "--bls", "sjf", "--slack", 3, "--out", tmp_path / "run")
    assert ran.err == "twolevel: --slack 3: --bls sjf reads no deadlines; allowed: edf\n"
    study = tmp_path / "study.toml"
    study.write_text('[study]\n[workload]\nsource = "sample"\n[batch]\npolicy = ["sjf", "fcfs"]\nslack = 3\n')
    ran = twolevel("study", study, "--out", tmp_path / "study")
    words = "[batch] slack = 3: [batch] policy = 'sjf', [batch] policy = 'fcfs' reads no deadlines; allowed: edf"
    assert ran.err == f"twolevel: {study}: {words}\n"
