"""Every reader of texts that others write, by what they are of, and whole texts that each of them takes."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
from atexit import register
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from command_line import twolevel
from pages import ROOT, blocks

from als.core_speeds import core_speeds
from als.graphs.readers import READERS as GRAPH_READERS
from als.graphs.readers import read_graph
from als.lengths.file import read_lengths
from als.programs.program import Program
from bls.constraints.advance_reservations import load_windows
from bls.constraints.outages import read_outages
from bls.constraints.request_file import read_request_file
from bls.machine.platform import HostGroup, Platform, load_platform
from bls.policies.multifactor.settings import Multifactor
from bls.power.job_power import job_power
from bls.power.limits import read_limits
from bls.power.signals import read_signals
from bls.workloads import READERS, read_workload
from bls.workloads.workload import Workload
from bridge.cli.config_file import options_of_file
from bridge.cli.run_commands import run_command
from bridge.compare.record import differing, read_run
from bridge.live.file import FILE
from bridge.live.watch import watch_run
from bridge.runs.gantt import hosts, run_title
from bridge.runs.ownership import ours_in
from bridge.runs.story import story_of_results
from bridge.scenarios.application_map import load_application_map
from bridge.studies.input.named_files import names_in
from bridge.studies.input.study_file import load_study, parse_study
from bridge.studies.journal import JOURNAL, Journal
from bridge.studies.run_study import run_study
from bridge.studies.study_record import RECORD, read_study_record

__all__ = ["JOBS", "READ", "whole_texts"]

MACHINE = Platform((HostGroup(8, 32, 100.0),))

#: What files that name jobs are read with.
JOBS = Workload.from_jobs([(number, 0, 1, 8, 1) for number in (1, 2, 3, 17, 20, 21, 22)])


def _in_folder(path: Path, name: str, folder: str = "r") -> Path:
    """The text as the file ``name`` of a new folder; beside it the other files of a run."""
    new = path.parent / folder
    shutil.rmtree(new, ignore_errors=True)
    shutil.copytree(_made() / "run", new)
    path.replace(new / name)
    return new


_STUDY = """
[study]
seeds = 2
[[workload]]
file = "sample"
select = "first:5"
[grid]
als = ["static", "gss"]
"""


@cache
def _made() -> Path:
    folder = TemporaryDirectory(prefix="twolevel-texts-")
    register(folder.cleanup)
    made = Path(folder.name)
    ran = twolevel("run", "sample", "--select", "first:5", "--als", "gss", "--no-trace", "--out", made / "run")
    assert ran.code == 0, ran.err
    assert run_study(parse_study(_STUDY, [made], "small"), made / "study").failed == 0
    return made


def _journal(path: Path) -> None:
    folder = path.parent / "study"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with Journal(folder):
        pass
    with (folder / JOURNAL).open("ab") as file:
        file.write(path.read_bytes().replace(b"\n", b" ") + b"\n")
    with Journal(folder):
        pass


def _whole_journal(path: Path) -> None:
    folder = path.parent / "whole"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    path.replace(folder / JOURNAL)
    with Journal(folder) as journal:
        list(journal.entries(iter(journal.finished)))


def _record(path: Path) -> None:
    """What commands read of a run's record."""
    folder = _in_folder(path, "run.json")
    ours_in(folder)
    run = read_run(folder)
    differing(run, read_run(_made() / "run"))
    run.metric("makespan_ns")
    run_title(run.record)
    hosts(folder)


def _story(path: Path) -> None:
    story_of_results(_in_folder(path, "run.json"), "1")


def _watched(path: Path) -> None:
    folder = _in_folder(path, "run.json")
    for as_json in (False, True):
        watch_run(folder, once=True, as_json=as_json, stream=io.StringIO())


def _under_way(path: Path) -> None:
    folder = _in_folder(path, FILE, ".w.partial-1")
    (folder / "run.json").unlink()
    for as_json in (False, True):
        watch_run(folder.with_name("w"), once=True, as_json=as_json, stream=io.StringIO())


READ: dict[str, Callable[[Path], object]] = {
    "platform": load_platform,
    "AccaSim's system": lambda path: load_platform(path.replace(path.with_suffix(".json"))),
    "study": load_study,
    "application map": load_application_map,
    "options": lambda path: options_of_file(str(path), run_command),
    "windows": lambda path: load_windows(path, MACHINE),
    "multifactor": lambda path: Multifactor.from_toml(path.read_text("utf-8", "replace"), str(path)),
    "program": lambda path: Program.from_json(path.read_text("utf-8", "replace")),
    "outages": lambda path: read_outages(path, MACHINE),
    "limits": lambda path: read_limits(path, 10**6, lambda _part, _where: 10**6),
    "signals": read_signals,
    "job power": lambda path: job_power(path, JOBS, JOBS.job_id),
    "requests": lambda path: read_request_file(
        path, JOBS, ["unit_cores", "gpu", "memory_gb", "memory_kb", "matlab"], JOBS.job_id
    ),
    "speeds": lambda path: core_speeds([f"trace:{path}"], 4, 0),
    "lengths": read_lengths,
    "files in a file": lambda path: names_in(str(path), [path.parent]),
    "graph": read_graph,
    **{f"graph as {name}": lambda path, name=name: read_graph(path, format=name) for name in GRAPH_READERS},
    **{f"log as {name}": lambda path, name=name: read_workload(path, format=name) for name in READERS},
    "run.json": _record,
    "run.json, its story": _story,
    "run.json, as it is watched": _watched,
    "live.json": _under_way,
    "study.json": lambda path: read_study_record(_in_folder(path, RECORD)).study(),
    "journal": _whole_journal,
    "a line of a journal": _journal,
}


_SWF = "; MaxProcs: 64\n; UnixStartTime: 1000000000\n" + "".join(
    f"{number} {10 * number} 5 60 {number} 55.5 1000 8 120 2000 1 {number} 2 3 1 1 -1 -1\n" for number in range(1, 6)
)

_GWF = "".join(
    f"{number} 100 5 60 4 -1 -1 8 120 -1 1 ann g1 app q1 p1 s1 s2 UNITARY{8 * ' -1'} vo1 pr1\n".replace(" ", "\t")
    for number in range(1, 5)
)

_SACCT = """\
User|JobID|Partition|State|AllocCPUS|ReqCPUS|NNodes|Submit|Eligible|Start|End|Elapsed|Timelimit|QOS|Account|Group|ReqMem|AllocTRES
ann|7|fat|COMPLETED|8|4|2|1700000100|1700000150|1700000160|1700003760|01:00:00|1-00:00:00|high|phys|g1|4G|cpu=8,mem=4G,gres/gpu=2
ann|7.batch||COMPLETED|8|8|1|1700000160|1700000160|1700000160|1700003760|01:00:00||||||cpu=8
bob|8_3|thin|TIMEOUT|1|1|1|2023-11-14T22:15:00|Unknown|1700000000|1700000061|00:01:01|00:01:00|high|phys|g2|100Mc|
ann|9+1|thin|CANCELLED by 1001|1|1|1|1700000200|1700000200|1700000190|1700000260|01:10|UNLIMITED|low|bio|g1|0|cpu=1
"""

#: With what Slurm wrote before, and names that have marks and line breaks in them.
_OLD_SACCT = """\
JobID^JobName^NCPUS^NNodes^ReqMem^ReqTRES^AllocGRES^Submit^Eligible^Start^Elapsed^TimelimitRaw^State^Comment
1^a^b^16^1^2147487648Mn^cpu=16,mem=62.50G,node=1^gpu:a100:2^1700000000^1700000050^1700000060^01:00:00^120^COMPLETED^x
2^two
lines^4^2^4Gn^^7696487:4^1700000000^1700000000^1700000060^01:00:00^120^COMPLETED^
3^c^4^2^0n^cpu=4,mem=8G,gres/gpu:v100=1^^1700000000^None^1700000060^01:00:00^120^FAILED^y
"""

_JSON_SACCT = {
    "meta": {"Slurm": {"version": {"major": 23}, "release": "23.11.1"}},
    "jobs": [
        {
            "job_id": 12, "array": {"job_id": 9, "task_id": {"set": True, "infinite": False, "number": 3}}, "name": "a",
            "user": "ann", "association": {"user": "ann", "account": "x"}, "account": "x", "group": "g", "partition": "p",
            "qos": "q", "allocation_nodes": 2, "nodes": "n[1-2]", "constraints": "", "priority": 4, "het": {"job_id": 0},
            "required": {"CPUs": 4, "memory_per_cpu": {"set": True, "infinite": False, "number": 2000}},
            "state": {"current": ["COMPLETED"], "reason": "None"}, "reservation": {"id": 0, "name": ""},
            "time": {"elapsed": 60, "submission": 1700000000, "eligible": 1700000002, "start": 1700000005,
                     "end": 1700000065, "limit": {"set": True, "infinite": False, "number": 10}},
            "tres": {"allocated": [{"type": "cpu", "name": "", "id": 1, "count": 4},
                                   {"type": "gres", "name": "gpu:a100", "id": 1001, "count": 2}], "requested": []},
        },
        {
            "job_id": 13, "array": {"job_id": 0, "task_id": None}, "het": {"job_id": 13, "job_offset": 1}, "user": "bob",
            "required": {"CPUs": 2, "memory": 100}, "state": {"current": "CANCELLED"},
            "time": {"elapsed": 5, "submission": 1700000001, "eligible": 0, "start": 1700000005, "end": 1700000010,
                     "limit": 4294967295},
        },
    ],
}  # fmt: skip

_BATSIM = {
    "nb_res": 8,
    "jobs": [
        {"id": 1, "subtime": 10, "walltime": 100, "res": 4, "profile": "short"},
        {"id": "w!2", "subtime": 10.5, "walltime": -1, "res": 2, "profile": "chain"},
        {"id": 3, "subtime": 11, "res": 8, "profile": "seen"},
    ],
    "profiles": {
        "short": {"type": "delay", "delay": 20.25},
        "chain": {"type": "composed", "repeat": 4, "seq": ["short", "short"]},
        "seen": {"type": "parallel_homogeneous", "cpu": 1e9, "com": 0, "np": 4, "runtime": 7.5},
    },
}

_LIVE = {
    "process": {"pid": 5, "host_name": "n17", "born": "7"},
    "phase": "simulating",
    "written_s": 999.0,
    "setting": {
        "workload": "a.swf", "jobs": 40, "cores": 8, "hosts": 2, "options": {"bls": "fcfs", "als": "gss", "seed": "1"},
        "resources": [{"name": "cores", "amount": 8}, {"name": "gpu", "amount": 4}],
        "cells": {"first_core": [0, 4, 8], "host": [0, 1]},
    },
    "pulse": {"elapsed_s": 3.5, "now_ns": 3600000000000, "ended": 10, "running": 2, "waiting": 3, "simulated_per_s": 1e3,
              "jobs_per_s": 3.5},
    "look": {
        "now_ns": 3600000000000, "used": [6, 1], "down_hosts": 1, "states": {"completed": 9, "killed": 1}, "busy": [4, 2],
        "down": [0, 1], "job": [7, -1], "widest": [[7, 3, 4, 3000000000000, 1200000000000]], "past_ns": [0, 1800, 3600],
        "past_waiting": [0, 4, 3], "past_busy": [4, 2, 6],
    },
    "version": 1,
}  # fmt: skip


def _of_page(name: str, kind: str, *words: str) -> list[str]:
    return [text for text in blocks(ROOT / name, kind) if any(word in text for word in words)]


def zstandard(data: bytes) -> bytes:
    import pyarrow as pa

    return bytes(pa.compress(data, "zstd", asbytes=True))


def whole_texts() -> dict[str, list[bytes]]:
    """Texts that each reader of :data:`READ` takes, those of the pages and others."""
    inputs, graphs = "docs/reference/inputs.md", "docs/reference/graph-files.md"
    made = _made()
    record, journal = (made / "run" / "run.json").read_text(), (made / "study" / JOURNAL).read_text()
    maps = [
        *_of_page("docs/reference/applications.md", "toml", "[[application]]"),
        *_of_page("docs/reference/graphs.md", "toml", "[[application]]"),
    ]
    form = {
        "wfformat": _of_page(graphs, "json", "workflow"),
        "dax": _of_page(graphs, "xml", "<adag"),
        "dot": [*_of_page(graphs, "dot", "digraph"), *_of_page("docs/reference/graphs.md", "dot", "digraph")],
        "graphml": _of_page(graphs, "xml", "<graphml"),
    }
    sacct = [_SACCT, _OLD_SACCT, json.dumps(_JSON_SACCT)]
    logs = {"swf": [_SWF], "sacct": sacct, "gwf": [_GWF], "batsim": [json.dumps(_BATSIM)]}
    studies = _of_page("docs/reference/studies.md", "toml", "[study]")
    texts = {
        "platform": [
            *_of_page(inputs, "toml", "[[hosts]]"),
            *_of_page("docs/explanation/model.md", "toml", "[[hosts]]"),
            *_of_page("docs/explanation/topology.md", "toml", "[[hosts]]"),
        ],
        "AccaSim's system": _of_page(inputs, "json", "system_name"),
        "study": studies,
        "application map": maps,
        "options": _of_page("docs/reference/cli.md", "toml", "tasks-per-core"),
        "windows": _of_page(inputs, "toml", "[[reservation]]"),
        "multifactor": _of_page(inputs, "toml", "fairshare"),
        "program": _of_page("bridge/PROTOCOL.md", "json", "phases"),
        "outages": _of_page(inputs, "csv", "down_s"),
        "limits": _of_page("docs/reference/power.md", "csv", "limit_w"),
        "signals": _of_page("docs/reference/power.md", "csv", "price_per_kwh"),
        "job power": _of_page("docs/reference/power.md", "csv", "memory_bound"),
        "requests": _of_page(inputs, "csv", "unit_cores"),
        "speeds": _of_page("docs/reference/core-speeds.md", "csv", "factor"),
        "lengths": ["1\n2.5\n1e3\n\n0.25\n"],
        "files in a file": [*maps, *studies],
        "graph": [text for of in form.values() for text in of],
        **{f"graph as {name}": of for name, of in form.items()},
        **{f"log as {name}": of for name, of in logs.items()},
        "run.json": [record],
        "run.json, its story": [record],
        "run.json, as it is watched": [record],
        "live.json": [json.dumps(_LIVE), json.dumps(_LIVE | dict.fromkeys(("setting", "pulse", "look")))],
        "study.json": [(made / "study" / RECORD).read_text()],
        "journal": [journal],
        "a line of a journal": journal.splitlines()[1:2],
    }
    packers: tuple[Callable[[bytes], bytes], ...] = (
        partial(gzip.compress, mtime=0),
        lzma.compress,
        bz2.compress,
        zstandard,
    )
    packed = {f"log as {name}": [packer(of[0].encode()) for packer in packers] for name, of in logs.items()}
    return {name: [text.encode() for text in of] + packed.get(name, []) for name, of in texts.items()}
