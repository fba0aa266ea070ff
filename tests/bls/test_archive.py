"""The catalogue of the Parallel Workloads Archive, and the shipped workload."""

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
from tables import table_rows

from bls import Workload
from bls.analysis.description import describe
from bls.machine.platform import Platform
from bls.workloads import read_workload, sample_path
from bls.workloads.archive import ArchivedLog, catalogue, catalogue_table, find_log, thanks
from bls.workloads.header import named_machine, named_size
from bls.workloads.selection import fit, select
from traces.base.errors import InputError


def test_a_log_is_found_by_name_alias_and_file() -> None:
    words = {" llnl-thunder ": "thunder", "Thunder": "thunder", "seth": "hpc2n", "nasa": "nasa", "kth": "kth"}
    words |= {f"KTH-SP2-1996-2.1-cln{ending}": "kth" for ending in ("", ".swf", ".swf.gz")}
    assert {word: find_log(word).name for word in words} == words
    log = find_log("curie")
    assert (log.path, log.jobs, log.cores) == ("l_cea_curie/CEA-Curie-2011-2.1-cln.swf.gz", 312_826, 93_312)
    assert catalogue().page(log) == "https://www.cs.huji.ac.il/labs/parallel/workload/l_cea_curie/"
    with pytest.raises(InputError) as caught:
        find_log("thonder")
    text = str(caught.value)
    assert text.startswith("unknown log of the archive 'thonder'; known: thunder, ")
    assert "\n" not in text
    assert all(log.name in text for log in catalogue().logs)


def test_every_log_has_its_own_file_and_credits() -> None:
    archive = catalogue()
    assert len({log.path for log in archive.logs}) == len(archive.logs) >= 40
    for log in archive.logs:
        assert find_log(log.name) is log
        owed = "\n".join(thanks(log))
        parts = ("doi:10.1016/j.jpdc.2014.06.013", "Feitelson", archive.page(log), log.provided_by, log.cite, log.note)
        assert [part for part in parts if part not in owed] == []
    assert "Acknowledge: Somebody Else" in thanks(find_log("kth"), "Somebody Else"), "the header's word comes first"
    assert "Acknowledge: Lars Malinowsky" in thanks(find_log("kth"))
    one = ArchivedLog(name="one", title="One", path="l_one/One-1.swf.gz", aliases=("eins",), jobs=3)
    assert thanks(one)[1] == "Acknowledge: see https://www.cs.huji.ac.il/labs/parallel/workload/l_one/"


def test_the_shipped_catalogue_is_sound() -> None:
    archive = catalogue()
    assert re.fullmatch(r"https://.*/", archive.url)
    assert all(isinstance(text, str) and text for text in (archive.title, archive.cite, archive.doi))
    called = [name for log in archive.logs for name in log.called()]
    assert len(set(called)) == len(called), "no two logs share a name"
    for log in archive.logs:
        assert all(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) for name in (log.name, *log.aliases)), log
        assert log.title, log
        for text in (log.title, log.provided_by, log.cite, log.note):
            assert text.isprintable(), log
            assert text == text.strip(), log
        assert re.fullmatch(r"l_[a-z0-9_]+/[A-Za-z0-9.-]+\.swf\.gz", log.path), log
        assert all(number is None or number > 0 for number in (log.jobs, log.jobs_at_most, log.cores)), log
        assert log.text_sha256 is None or re.fullmatch(r"[0-9a-f]{64}", log.text_sha256), log


def test_the_table_has_a_line_for_every_log() -> None:
    head, *lines = catalogue_table().splitlines()
    assert head.split() == ["name", "jobs", "cores", "file", "machine"]
    assert [line.split()[0] for line in lines] == [log.name for log in catalogue().logs]
    by_name = {line.split()[0]: line for line in lines}
    assert by_name["curie"].split()[1:4] == ["312,826", "93,312", "CEA-Curie-2011-2.1-cln.swf.gz"]
    assert by_name["blue"].split()[1:4] == ["≤", "250,440", "1,152"]
    assert by_name["lcg"].split()[1:3] == ["-", "-"]
    assert len({line.index(".swf.gz") - len(line.split(".swf.gz")[0].split()[-1]) for line in lines}) == 1


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


GENERATOR = Path(__file__).resolve().parents[2] / "tools" / "make_sample.py"


def test_the_generator_makes_these_bytes() -> None:
    made = runpy.run_path(str(GENERATOR))["sample_text"]()
    assert made.encode("ascii") == sample_path().read_bytes()


def test_every_line_is_a_job_that_fits_the_default_platform() -> None:
    sample = read_workload(sample_path())
    assert fit(sample, Platform().n_cores) is sample
    assert len(sample) == sample.n_lines == 320
    assert sum(sample.rejects.values()) == sample.reordered == 0
    assert np.all(sample.estimate_ns >= sample.run_ns)
    assert "SYNTHETIC" in "".join(sample.header)


def test_its_busiest_day_is_all_of_it_and_loads_the_platform() -> None:
    sample = read_workload(sample_path())
    assert len(select(sample, "busiest:24h")) == len(sample)
    load = describe(sample, Platform()).load
    assert load is not None
    assert 0.9 <= load <= 1.3
    assert sample.cores.max() == 256
