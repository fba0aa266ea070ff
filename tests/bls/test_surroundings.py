"""What surrounds the jobs: each option is read, counted and joined with the others, or refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

from bls import Partition, Platform, Surroundings
from bls.constraints.advance_reservations import load_windows
from bls.constraints.job_constraints import JobConstraints, core_mask, masks, outage_columns
from bls.constraints.options import surround, switch_limit
from bls.engine.state import NEVER
from bls.machine.partitions import partition_table
from bls.machine.platform import HostGroup
from bls.machine.switches import Switch
from bls.workloads.workload import Workload
from traces.base.errors import InputError

S = 10**9
MACHINE = Platform((HostGroup(4, 4, 1.0),))
JOBS = Workload.from_jobs([(k, k, 10, 1 + k % 16, 10) for k in range(20)])


@pytest.mark.parametrize(
    ("text", "found"), [("1", (1, None)), ("3@2h", (3, 7200 * S)), ("16777215@1s", (2**24 - 1, S))]
)
def test_switch_limits(text: str, found: tuple[int, int | None]) -> None:
    assert switch_limit(text) == found


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1@", "@2h", "x", "1.5", "16777216", "１", "1@2h@3h", "1@x", "9" * 5000]
)
def test_no_switch_limits(text: str) -> None:
    with pytest.raises(InputError, match=r"^--switches: "):
        Surroundings(switches=text)


def test_partitions_and_rejects() -> None:
    machine = replace(MACHINE, partitions=(Partition("few", hosts="0-1", default=True, max_cores=6),))
    jobs, around = surround(JOBS, machine, Surroundings())
    assert jobs.cores.max() == 6
    assert sum(jobs.rejects.values()) == 20 - len(jobs)
    assert around.partition is not None
    assert around.partition.tolist() == [0] * len(jobs)
    assert not around.interchangeable(machine)
    with pytest.raises(InputError, match=r"^jobs: none of 20 jobs fits its partition: "):
        surround(
            JOBS,
            replace(MACHINE, partitions=(Partition("few", hosts="0", default=True, max_time_ns=S),)),
            Surroundings(),
        )


def test_nobody_is_asked_to_accept_fewer_switches_than_it_needs() -> None:
    leaves = (Switch("a", hosts="0"), Switch("b", hosts="1-3"), Switch("top", switches=("a", "b")))
    _, around = surround(JOBS, replace(MACHINE, switches=leaves), Surroundings(switches="1"))
    assert around.requests is not None
    needed = [1 if cores <= 12 else 2 for cores in JOBS.cores.tolist()]
    assert around.requests.switches.tolist() == needed
    with pytest.raises(InputError, match=r"^--switches: the platform names no switches; give it \[\[switches\]\]$"):
        surround(JOBS, MACHINE, Surroundings(switches="1"))


def test_everything_together(tmp_path: Path) -> None:
    (tmp_path / "w.toml").write_text('[[maintenance]]\nname = "m"\nbegin = "5s"\nend = "9s"\nhosts = "1-2"\n')
    (tmp_path / "f.csv").write_text("host,down_s,up_s\n0,1,2\n3,4,\n")
    (tmp_path / "r.csv").write_text("job_id,unit_cores\n3,4\n")
    jobs = replace(JOBS, preceding=np.where(JOBS.job_id == 7, 5, -1))
    said = Surroundings(
        windows=tmp_path / "w.toml", failures=str(tmp_path / "f.csv"), requests=tmp_path / "r.csv", dependencies=True
    )
    assert said.names()["windows"] == str(tmp_path / "w.toml")
    jobs, around = surround(jobs, MACHINE, said)
    assert around.dependencies is not None
    assert around.dependencies.depends_on.tolist() == [5 if number == 7 else -1 for number in jobs.job_id.tolist()]
    assert around.requests is not None
    assert around.requests.unit_cores.tolist() == [4 if number == 3 else 1 for number in jobs.job_id.tolist()]
    first, down, up = outage_columns(around.outages, around.windows, 4)
    # Failures of the four hosts, then their maintenance; one that is never repaired is so at an instant that never comes.
    assert first.tolist() == [0, 1, 1, 1, 2, 2, 3, 4, 4]
    assert down.tolist() == [S, 4 * S, 5 * S, 5 * S]
    assert up.tolist() == [2 * S, NEVER, 9 * S, 9 * S]


def test_masks(tmp_path: Path) -> None:
    assert core_mask(np.array([0, 30]), np.array([2, 35]), 40).tolist() == [0b11 + (0b11 << 30), 0b111]
    file = tmp_path / "w.toml"
    file.write_text('[[reservation]]\nname = "r"\nbegin = "5s"\nend = "9s"\ncores = "1-2"\njobs = "3"\n')
    machine = replace(MACHINE, partitions=(Partition("a", hosts="0"), Partition("b", hosts="0-3", default=True)))
    found = masks(partition_table(machine), load_windows(file, machine), 16)
    assert found.tolist() == [[0b1111], [0xFFFF], [0b110]]


def test_partitions_of_the_whole_machine_are_none() -> None:
    everything = replace(MACHINE, partitions=(Partition("all", default=True),))
    assert JobConstraints().interchangeable(everything)
    assert not JobConstraints().interchangeable(
        replace(MACHINE, partitions=(Partition("half", hosts="0-1", default=True),))
    )


@pytest.mark.parametrize(("said", "message"), table_rows(__file__, "what_cannot_be"))
def test_what_cannot_be(said: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        surround(JOBS, MACHINE, Surroundings(**said))
    assert str(caught.value).startswith(message)
