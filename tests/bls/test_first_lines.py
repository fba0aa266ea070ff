"""Which format a log is in by its first lines, and what is said of formats that no reader reads."""

from __future__ import annotations

from pathlib import Path

import pytest
from tables import table_rows

from bls.workloads import READERS, format_of, read_workload
from traces.base.errors import InputError


@pytest.mark.parametrize(("name", "text", "form"), table_rows(__file__, "a_format_is_told_by_name_and_first_lines"))
def test_a_format_is_told_by_name_and_first_lines(tmp_path: Path, name: str, text: str, form: str) -> None:
    (tmp_path / name).write_text(text)
    assert format_of(tmp_path / name) == form


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("lsb.acct", '"JOB_FINISH" "10.1" 1450000000 101 1001 33816595 1 1449999000 0 0\n', "file of LSF"),
        ("lsb.acct.1", '# old\n"JOB_NEW" "7.0" 1450000000 101\n', "file of LSF"),
        ("a.swf", '"JOB_FINISH" "9.13" 1450000000 101 1001\n', "file of LSF"),
        ("20130415", "04/15/2013 00:00:07;E;1234.server;user=ann group=phys queue=batch\n", "PBS or Torque"),
        ("20240101.txt", "01/01/2024 00:00:07;L;license;floating license hour:0\n", "PBS or Torque"),
        ("accounting", ":".join(["all.q", "n1", "phys", "ann", "job", *["0"] * 40]) + "\n", "Grid Engine"),
        ("history", '*** Offset = 0 ClusterId = 5\nOwner = "ann"\n', "HTCondor"),
        ("history", 'ClusterId = 5\nOwner = "ann"\n', "HTCondor"),
        (
            "log.csv",
            "job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time\n0,u,v,1,4,1,C,a,b\n",
            "looks like a trace of Helios, a format without a reader. ",
        ),
        ("log.csv", "job_id,user,node_num,gpu_num\n0,u,1,1\n", "Helios"),
        ("cluster_job_log", '[\n {\n  "status": "Pass",\n  "vc": "ee9e8c"\n }\n]\n', "Philly"),
        ("cluster_job_log", '[{"status": "Pass", "vc": "ee9e8c"}]\n', "Philly"),
        ("jobs.csv", "job_db_inx,mod_time,id_job,id_array_job\n1,2,3,4\n", "table of Slurm's database"),
        ("jobs.parquet", "PAR1\x15\x04", "a Parquet file"),
        ("jobs.xlsx", "PK\x03\x04\x14", "a zip file"),
        (
            "my.csv",
            "number,when,size\n1,2,3\n",
            "); perhaps it is in another format. ",
        ),
    ],
)
def test_a_format_that_is_not_read_is_named(tmp_path: Path, name: str, text: str, what: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as caught:
        read_workload(tmp_path / name)
    said = str(caught.value)
    assert said.startswith(f"{tmp_path / name}: ")
    assert what in said
    assert said.endswith(f". Formats that are read: {', '.join(READERS)}. For others, use bls.Workload.from_jobs")
    assert ("looks like a" in said and ", a format without a reader. " in said) != ("no valid job" in said)
    assert said.isprintable()
