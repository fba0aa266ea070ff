"""The machine that a log names: exactly its cores, on its nodes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tables import table_rows

from bls import Workload
from bls.workloads import read_workload
from bls.workloads.named_machine import named_machine, named_size


def log(*header: str) -> Workload:
    one = Workload.from_jobs([(1, 0, 60, 4, 60)])
    return one.take(one.job_id > 0, header=header)


@pytest.mark.parametrize(("header", "hosts"), table_rows(__file__, "it_has_the_cores_and_the_nodes_of_the_header"))
def test_it_has_the_cores_and_the_nodes_of_the_header(header: list[str], hosts: list[list[int]]) -> None:
    machine = named_machine(log(*header))
    assert machine is not None
    assert [[group.count, group.cores] for group in machine.hosts] == hosts
    assert machine.n_cores == named_size(header)[0]
    assert set(machine.core_speed_gflops.tolist()) == {46.875}


@pytest.mark.parametrize(
    "header",
    [(), ("; MaxNodes: 4",), ("; MaxProcs: 0",), ("; MaxProcs: many",), ("; MaxProcs: 16777217",), ("; MaxProcs: 4x",)],
)
def test_a_header_that_names_none(header: tuple[str, ...]) -> None:
    assert named_machine(log(*header)) is None


def test_batsim_says_the_number_of_its_hosts(tmp_path: Path) -> None:
    file = tmp_path / "w.json"
    jobs = [{"id": "1", "subtime": 0, "res": 2, "walltime": 9, "profile": "p"}]
    file.write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": {"p": {"type": "delay", "delay": 5}}}))
    machine = named_machine(read_workload(file))
    assert machine is not None
    assert (machine.n_hosts, machine.n_cores) == (8, 8)
