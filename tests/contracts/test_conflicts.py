"""Every pair of features that the tables of conflicts have is refused, in the table's words; and the page has all of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import bridge
from bls import BatchSimulator, ConstraintOptions, HostGroup, Platform, Rules, Workload, allocator, policy
from bls.conflicts import RUN
from bls.constraints.job_constraints import constrain
from bls.machine.host_power import HostPower
from bls.machine.partitions import Switch
from bridge.scenarios.conflicts import TYPED
from bridge.spelling import on_command_line
from tools import conflicts
from traces import InputError
from traces.base.options import Conflict, check

POWER = HostPower(50, [(1, 100), (0.5, 70)], shutdown=("5s", 1), boot=("5s", 1))
MACHINE = Platform(
    (HostGroup(2, 2, 1.0, power=POWER),),
    licences={"solver": 1},  # type: ignore[arg-type]
    switches=(Switch("low", "0-1"),),
)
JOBS = [(1, 0, 60, 2, 60), (2, 5, 30, 2, 60), (3, 9, 30, 1, 60)]
AFTER = {"job_id": 4, "submit_s": 9, "run_s": 30, "cores": 1, "preceding": [1, 2]}
FILES = {
    "drains.csv": "host,down_s,up_s,state\n0,1,2,drain\n",
    "licences.csv": "job_id,solver\n1,1\n",
    "units.csv": "job_id,unit_cores\n1,2\n",
    "windows.toml": '[[maintenance]]\nname = "m"\nbegin = "500s"\nend = "900s"\nhosts = "1"\n',
    "applications.toml": "[default]\ntasks = 3\n",
    "token": "0" * 64,
}
TABLES = [(row, names) for rows, names in conflicts.TABLES.values() for row in rows]
PAIRS = [on_command_line(f"{row.first} × {row.second}") for row, _ in TABLES]


class Decides:
    """A policy that decides in Python."""

    name = "mine"

    def decide(self, view: Any) -> list[Any]:
        return list(view.queue)


class Directs(Decides):
    """One that changes how jobs run."""

    directs = ("speeds",)


def refused(row: Conflict[Any], given: dict[str, Any]) -> None:
    if given.get("bls") in ("DECIDES", "DIRECTS"):
        given["bls"] = {"DECIDES": Decides, "DIRECTS": Directs}[given["bls"]]()
    jobs = Workload.from_jobs([*JOBS, AFTER] if given.pop("several", False) else JOBS)
    if row in TYPED:
        check(TYPED, bridge.Scenario.flat(**given).execution, {})
    elif row in RUN and given.get("als") == "recorded":  # the command line and Python say so before there are jobs
        jobs, asked = constrain(jobs, MACHINE, ConstraintOptions(malleable="1"))
        run = {"rules": Rules(resize=given["resize"]), "constraints": asked, "recorded": True}
        BatchSimulator(jobs, MACHINE, policy("fcfs"), allocator("first-fit"), **run)
    else:
        bridge.simulate(jobs, MACHINE, **given)


@pytest.mark.parametrize(("row", "names"), TABLES, ids=PAIRS)
def test_a_conflict_is_refused(
    row: Conflict[Any], names: Mapping[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
        Path(name).chmod(0o600)
    with pytest.raises(InputError) as caught:
        refused(row, dict(row.example))
    said = row.text(dict.fromkeys(names, "\x00"))
    assert re.fullmatch(re.escape(said).replace("\0", ".*"), caught.value.text), str(caught.value)


def test_the_page_has_all_of_them() -> None:
    assert conflicts.PAGE.read_text(encoding="utf-8") == conflicts.page()  # python -m tools.conflicts
