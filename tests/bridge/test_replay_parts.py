"""The parts of a replay that hardly need Slurm: clock, messages, host lists, slurm.conf, switches, a log's words, nodes."""

import os
import stat
import struct
import subprocess
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from slurm_here import machine, needs_slurm, replayed
from tables import table_rows

from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import OutageModel, modelled_outages, read_outages
from bls.machine.partitions import Partition, Switch
from bls.machine.platform import HostGroup, Platform
from bls.workloads import read_workload
from bls.workloads.readers.sacct_dump import sacct_words
from bls.workloads.workload import Workload
from bridge.replay.agenda import NodeStates
from bridge.replay.book import FreeCores, ReplayedRows
from bridge.replay.clock import NEVER, Clock
from bridge.replay.configuration import Configuration, of_machine, partition_names, settings
from bridge.replay.host_names import compressed, counted, expanded
from bridge.replay.installed import clock_library, installed_slurm, requests_program
from bridge.replay.messages import (
    LAYOUTS,
    Kind,
    SlurmLaunch,
    SlurmMessageError,
    framed,
    opened,
    stopped_job,
    whole_messages,
)
from bridge.replay.run import ReplayOptions, check_taken, complaints
from bridge.replay.site import of_site
from bridge.replay.submissions import FIRST_USER, Submissions, log_words, submissions
from bridge.replay.switch_file import given_switches, read_switches, switches_of, switches_text
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError, PeerError
from traces.lifecycle import Ending

S = 10**9
V = LAYOUTS["22.05"]
_TEXTS: dict[str, str] = tomllib.loads((Path(__file__).parent / "tables" / "replay_parts.toml").read_text("utf-8"))


@contextmanager
def _under_the_clock(folder: Path, source: str) -> Iterator[tuple[Path, Clock, subprocess.Popen[str]]]:
    program, library = folder / source, clock_library(folder)
    subprocess.run(["cc", "-O1", "-o", program, Path(__file__).with_name(f"{source}.c"), "-lpthread"], check=True)
    clock = Clock(folder / "clock", library, 10**18)
    paths = {"CLOCK": str(folder / "clock"), "SOCKETS": str(folder), "PARENT": str(os.getpid())}
    environment = os.environ | {"LD_PRELOAD": str(library)} | {f"TWOLEVEL_REPLAY_{k}": v for k, v in paths.items()}
    running = subprocess.Popen([program], env=environment, stdout=subprocess.PIPE, text=True)
    assert clock.await_turn(30)
    yield program, clock, running
    clock.close()


def test_threads_run_one_at_a_time_and_no_time_passes_while_they_do(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        with _under_the_clock(tmp_path / name, "toy_sleepers") as (_program, clock, running):
            assert (clock.now_ns, clock.shared.wake_ns) == (10**18, 10**18 + 10**9)  # no wait ends by itself
            clock.pass_turn(NEVER, 0)  # it ends in its turn
            assert running.communicate(timeout=30)[0] == _TEXTS["order"]


def test_locks_memory_and_signals_are_as_without_the_clock(tmp_path: Path) -> None:
    with _under_the_clock(tmp_path, "toy_locks") as (program, clock, running):
        clock.pass_turn(NEVER, 0)
        found = running.communicate(timeout=30)[0]
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    assert (found, running.returncode) == (plain, 0)
    assert "read, and awaited: read Device or resource busy" in plain  # of the lock that lets writers first
    assert plain.endswith("a child: signal 13\n")


def test_messages_come_in_pieces_and_several_at_once() -> None:
    two = framed(V, Kind.REQUEST_PING, b"") + framed(V, Kind.REQUEST_TERMINATE_JOB, b"\0" + b"\0" * 14 + b"\0\0\0\x11")
    received, found = bytearray(), []
    for at in range(len(two)):
        received += two[at : at + 1]
        found += list(whole_messages(received))
    assert not received
    kinds = [opened(raw, V) for raw in found]
    assert [kind for kind, _ in kinds] == [Kind.REQUEST_PING, Kind.REQUEST_TERMINATE_JOB]
    assert stopped_job(kinds[1][1]) == 17


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda raw: struct.pack(">H", 39 << 8) + raw[2:], "protocol 39, not 38"),
        (lambda raw: raw[:10] + b"\0\1" + raw[12:], "forwarded"),
        (lambda raw: raw[:16] + struct.pack(">I", 101) + raw[20:], "plug-in 101"),
        (lambda raw: raw[:-1], "bytes at"),
    ],
)
def test_a_message_that_is_another_one_is_refused(spoil: object, said: str) -> None:
    raw = framed(V, Kind.REQUEST_PING, b"body")[4:]
    with pytest.raises(SlurmMessageError, match=said):
        opened(spoil(raw), V)  # type: ignore[operator]


_NAMES = st.lists(
    st.one_of(st.integers(0, 1200).map(lambda n: f"n{n}"), st.integers(0, 999).map(lambda n: f"r{n:03}"),
              st.sampled_from(["login", "gpu-a"])),
    min_size=1, max_size=40,
)  # fmt: skip


@examples(max_examples=300)
@given(_NAMES)
def test_a_host_list_holds_the_names_in_their_order(names: list[str]) -> None:
    assert expanded(compressed(names)) == names


def test_host_lists_as_slurm_writes_them() -> None:
    assert expanded("rack[1-2]n[08-10]") == ["rack1n08", "rack1n09", "rack1n10", "rack2n08", "rack2n09", "rack2n10"]
    assert expanded("a,b[3,5-6]") == ["a", "b3", "b5", "b6"]
    assert counted("rack[1-2]n[08-10],a") == 7
    assert counted("n[0-99999999][1-1000]") == 10**11


_DIGITS = "9" * 5000


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *table_rows(__file__, "what_is_no_host_list_or_too_long_a_one"),
        (f"n[0-{_DIGITS}]", "is not a number or a range; allowed: e.g. n"),
    ],
)
def test_what_is_no_host_list_or_too_long_a_one(text: str, said: str) -> None:
    began_s = time.process_time()
    with pytest.raises(ValueError, match=said) as error:
        expanded(text)
    assert time.process_time() - began_s < 1.0
    assert len(str(error.value)) < 200


def test_cores_are_the_lowest_that_are_free() -> None:
    cores, host = FreeCores(machine(2, 4).first_core), {"n0": 0, "n1": 1}
    first = cores.take(SlurmLaunch(1, "n[0-1]", (2, 1)), host, "job 1")
    assert first == [(0, 2), (4, 5)]
    assert cores.take(SlurmLaunch(2, "n0", (2,)), host, "job 2") == [(2, 4)]
    cores.free(first)
    assert cores.take(SlurmLaunch(3, "n[0-1]", (1, 4)), host, "job 3") == [(0, 1), (4, 8)]
    with pytest.raises(PeerError, match="job 4 on 2 cores of n0, which has 1 free ones"):
        cores.take(SlurmLaunch(4, "n0", (2,)), host, "job 4")
    with pytest.raises(PeerError, match="n9, which is not a node"):
        cores.take(SlurmLaunch(4, "n9", (2,)), host, "job 4")


def test_a_job_that_was_cut_waits_again_as_its_next_attempt() -> None:
    book = ReplayedRows(Workload.from_jobs([(1, 0, 5, 1, 9)]), machine(1, 1).first_core, {"n0": 0})
    book.submit(0, 1)
    for attempt in range(3):
        row = book.row_of[1]
        assert (int(book.columns.attempt[row]), int(book.columns.start_ns[row]), book.waiting) == (attempt, -1, 1)
        book.start(row, SlurmLaunch(1, "n0", (1,)), 10 * attempt)
        book.end(row, Ending.REQUEUED, 10 * attempt + 5)
        book.requeue(row, 10 * attempt + 5)
    assert book.over_for_good(0) == -1


def test_a_sites_file_is_taken_and_what_is_replaced_is_listed(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_TEXTS["site"])
    found = of_site(str(tmp_path / "slurm.conf"), settings(["priorityweightjobsize=5"]))
    assert found.keys == {"SchedulerType": "sched/builtin", "PriorityWeightJobSize": "5"}
    assert [(node.name, node.cpus) for node in found.nodes] == [("n01", 4), ("n02", 4), ("n03", 4), ("fat", 32)]
    assert [group.count for group in found.platform().hosts] == [3, 1]
    assert found.partitions == ("PartitionName=batch Nodes=n[01-03],fat Default=YES MaxTime=60 State=UP",)
    assert found.replaced == (
        "ClusterName=big: replay (the place of slurmctld and its files)",
        "SlurmctldHost=head: localhost(127.0.0.1) (the place of slurmctld and its files)",
        "AuthType=auth/munge: auth/none (authentication of slurmctld's users)",
        "Prolog=/etc/slurm/prolog.sh: omitted (no program of a file is run)",
        "NodeAddr of nodes: omitted (simulated nodes have addresses of the replay)",
        "AllowAccounts of partitions: omitted (accounts, groups and QOS are not supported)",
    )
    lines = found.files(5)["slurm.conf"].splitlines()
    keys = [line.partition("=")[0].lower() for line in lines if not line.startswith(("NodeName", "Partition"))]
    assert len(keys) == len(set(keys))  # Slurm would take the first
    assert "AuthType=auth/none" in lines
    nodes = [line for line in lines if line.startswith("NodeName=")]
    assert nodes[0] == (
        "NodeName=n[01-03] NodeHostname=localhost NodeAddr=10.0.0.[1-3] Port=6818 State=UNKNOWN "
        "CPUs=4 RealMemory=1000 Feature=fast Weight=2"
    )
    assert [line.partition(" ")[0] for line in nodes[1:]] == ["NodeName=fat"]


def test_neighbours_of_one_kind_stand_in_one_line_and_lines_of_a_site_stay_apart(tmp_path: Path) -> None:
    ours = of_machine({}, Platform((HostGroup(300, 4, 187.5), HostGroup(2, 4, 187.5), HostGroup(1, 8, 375.0))))
    lines = [line.split()[:3:2] for line in ours.files(1)["slurm.conf"].splitlines() if line.startswith("NodeName=")]
    assert lines == [
        ["NodeName=n[0-301]", "NodeAddr=10.0.0.[1-255],10.0.1.[0-46]"],
        ["NodeName=n302", "NodeAddr=10.0.1.47"],
    ]
    (tmp_path / "slurm.conf").write_text("NodeName=a[1-2] CPUs=4\nNodeName=a[3-4] CPUs=4\nPartitionName=p Nodes=ALL\n")
    lines = [
        line.split()[:3:2] for line in of_site(str(tmp_path / "slurm.conf"), {}).files(1)["slurm.conf"].splitlines()
    ]
    assert [line for line in lines if line[0].startswith("NodeName=")] == [
        ["NodeName=a[1-2]", "NodeAddr=10.0.0.[1-2]"],
        ["NodeName=a[3-4]", "NodeAddr=10.0.0.[3-4]"],
    ]


@pytest.mark.parametrize(("line", "said"), table_rows(__file__, "what_a_sites_file_may_not_say"))
def test_what_a_sites_file_may_not_say(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "slurm.conf").write_text(f"PartitionName=all Nodes=ALL\n{line}\n")
    with pytest.raises(InputError, match=said):
        of_site(str(tmp_path / "slurm.conf"), {})


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "what_may_not_be_set"))
def test_what_may_not_be_set(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        settings([text])


def test_of_a_machine_with_one_core_a_host_whole_hosts_are_given() -> None:
    assert of_machine({}, machine(4, 1)).keys["SelectType"] == "select/linear"
    assert of_machine({}, machine(4, 2)).keys["SelectTypeParameters"] == "CR_Core"
    assert "SelectTypeParameters" not in of_machine({"selecttype": "select/linear"}, machine(4, 2)).keys


def test_an_unknown_slurm_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("bridge.replay.installed._FURTHER", ())
    with pytest.raises(
        InputError, match="needs Slurm, and slurmctld is not installed; Debian's packages are slurmctld"
    ):
        installed_slurm()
    other = tmp_path / "slurmctld"
    for said in ("slurm 99.05.1", "slurm-wlm 22.05.8"):
        other.write_text(f"#!/bin/sh\necho {said}\n")
        other.chmod(0o700)
        if "99" in said:
            with pytest.raises(InputError, match=r"slurmctld is slurm 99\.05\.1; allowed: 22\.05"):
                installed_slurm()
    assert (installed_slurm().release, installed_slurm().version) == ("22.05.8", 38 << 8)


@pytest.mark.whole
@needs_slurm
def test_a_date_that_slurm_cannot_have_is_taken_as_unknown_and_colleagues_may_read_its_log(tmp_path: Path) -> None:
    jobs = Workload.from_jobs([(1, 0, 60, 1, 120), (2, 5, 60, 2, 120)])
    starts = []
    for date, name in ((None, "no"), (0, "zero"), (86_400 + 75, "early"), (86_400 + 76, "least")):
        header = () if date is None else (f"; UnixStartTime: {date}",)
        done = replayed(jobs.take(np.arange(2), header=header), machine(2, 1), tmp_path / name)
        starts.append(done.result.jobs["start_ns"].tolist())
        said = "the log's date, 1970-01-0{}, is too early for Slurm; time 0 becomes 2001-01-01"
        assert done.notes == {"zero": (said.format(1),), "early": (said.format(2),)}.get(name, ())
    assert starts[0] == starts[1] == starts[2]
    modes = [stat.S_IMODE((tmp_path / "no" / name).stat().st_mode) for name in ("", "slurm.conf", "slurmctld.log")]
    (tmp_path / "by_hand").mkdir()
    assert modes[0] == stat.S_IMODE((tmp_path / "by_hand").stat().st_mode)
    assert modes[1] == modes[2]


@pytest.mark.whole
@needs_slurm
def test_a_request_with_too_many_fields_or_too_long_a_line_is_refused_and_the_next_one_is_heard(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(of_machine({}, machine(1, 1)).files(1)["slurm.conf"])
    program = requests_program(installed_slurm().release, tmp_path)
    asked = ["\t".join(["submit", *["name=1"] * 40]), f"submit\tname={'1' * (1 << 20)}", "so\tso"]
    text, environment = "\n".join([*asked, ""]), {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    said = subprocess.run([program], input=text, env=environment, capture_output=True, text=True, check=True).stdout
    refused = ("too many fields", "a line is too long", "no such request")
    assert said.splitlines()[1:] == [f"error -1 {why}" for why in refused]


_NODES = ("n0", "n1", "n2", "n3")


def test_a_topology_conf_is_read_and_written_and_is_a_platforms_switches(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(
        "# a tree\nSwitchName=s0 Nodes=n[0-1] LinkSpeed=10\n\nswitchname=s1 nodes=n2,n3\nSwitchName=top Switches=s[0-1]\n"
    )
    found = read_switches(str(path), _NODES)
    text = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=top Switches=s[0-1]\n"
    assert switches_text(found) == text
    ours = switches_of(found, _NODES)
    assert ours == (Switch("s0", "0-1"), Switch("s1", "2-3"), Switch("top", switches=("s0", "s1")))
    assert given_switches(ours, _NODES) == found


def test_switches_of_a_platform_have_names_that_slurm_can_have(tmp_path: Path) -> None:
    text = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\nSwitchName=top Switches=s0,b\n"
    path = tmp_path / "switches.toml"
    path.write_text(
        '[[switches]]\nname = "leaf 0"\nhosts = "0-1"\n[[switches]]\nname = "b"\nhosts = "2-3"\n'
        '[[switches]]\nname = "top"\nswitches = ["leaf 0", "b"]\n'
    )
    assert switches_text(read_switches(str(path), _NODES)) == text


@pytest.mark.parametrize(("text", "said"), table_rows(__file__, "a_file_of_switches_that_cannot_be_used"))
def test_a_file_of_switches_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(InputError, match=said):
        read_switches(str(tmp_path / "t"), _NODES)


def test_switches_that_a_platform_cannot_have(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("SwitchName=a Nodes=n[0,2]\nSwitchName=b Nodes=n3\n")
    with pytest.raises(InputError, match="host 1 is on no leaf switch"):
        switches_of(read_switches(str(tmp_path / "t"), _NODES), _NODES)


def test_what_slurmctld_says_of_parameters_that_it_does_not_take(tmp_path: Path) -> None:
    log = tmp_path / "slurmctld.log"
    assert check_taken(log, of_machine({}, Platform())) == ()
    log.write_text(
        "[2024-01-01T00:04:07.500] error: Invalid SchedulerParameters bf_interval: 0\n"
        "[2024-01-01T00:04:07.500] error: Could not open job state file /proc/self/cwd/state/job_state\n"
        "[2024-01-01T00:04:10.500] error: ignoring SchedulerParameters: default_queue_depth value of -2\n"
        "[2024-01-01T00:04:10.500] SchedulerParameters=default_queue_depth=100,max_rpc_cnt=0\n"
        "[2024-01-01T00:04:37.500] error: Invalid SchedulerParameters bf_interval: 0\n"
    )
    said = (
        "Invalid SchedulerParameters bf_interval: 0",
        "ignoring SchedulerParameters: default_queue_depth value of -2",
    )
    assert complaints(log.read_text()) == said
    with pytest.raises(
        InputError, match="set: slurmctld reports: Invalid SchedulerParameters bf_interval: 0; allowed: "
    ):
        check_taken(log, of_machine({}, Platform()))
    site = tmp_path / "slurm.conf"
    site.write_text("NodeName=n[0-3] CPUs=1\nPartitionName=all Nodes=ALL Default=YES\n")
    words = tuple(f"slurmctld uses a default, as it reports: {one}" for one in said)
    assert check_taken(log, of_site(str(site), {})) == words


def test_partitions_with_limits_that_only_slurmdbd_keeps() -> None:
    platform = Platform((HostGroup(2, 1, 46.875),), partitions=(Partition("a", default=True, max_running_jobs=3),))
    with pytest.raises(InputError, match=r"partitions\[0\].max_running_jobs: is a QOS of Slurm, which needs slurmdbd"):
        of_machine({}, platform)


def test_words_of_a_dump_are_read_again_by_line_and_job(tmp_path: Path) -> None:
    path = tmp_path / "log.sacct"
    path.write_text(_TEXTS["dump"])
    found = sacct_words(path, {2: 1, 3: 7, 5: 4})
    assert (list(found), found[1]["node_list"]) == ([1], "n[0-1]")  # the other lines are of other jobs
    workload = read_workload(path)
    words = log_words(workload)
    assert workload.job_id.tolist() == [3, 1]
    assert (words.nodes, words.features) == (("", "n[0-1]"), ("", "fast&new"))
    assert (words.priority, words.least_nodes) == ((-1, 10), (1, 2))
    assert words.partitions == {1: ("day",), 2: ("night",)}


def test_words_of_a_header() -> None:
    lines = ("; Queue: 2 name: night (all of it)", "; Partition: x y", "; Partition: ² c", f"; Queue: {_DIGITS} d")
    header = (*lines, "; Queue:", "; Note: Queue: 3 no")
    words = log_words(Workload.from_lines([np.array([1])] * 6, header=header, rejects={}, source="a log", n_lines=1))
    assert (words.queues, words.partitions) == ({2: ("name", "night", "all", "of", "it")}, {})


def _submissions(workload: Workload, found: Configuration, *, recorded: bool = True, **words: Any) -> Submissions:
    scenario = ReadyScenario.of(workload, found.platform(), ReplayOptions.flat(als="recorded"))
    return submissions(scenario, found, replace(log_words(workload), **words), recorded_priorities=recorded)


@pytest.mark.parametrize(("nodes", "more", "tres", "wanted", "note"), table_rows(__file__, "gpus_of_a_log_and_a_site"))
def test_gpus_of_a_log_and_a_site(
    tmp_path: Path, nodes: str, more: str, tres: str, wanted: list[str], note: str | None
) -> None:
    (tmp_path / "slurm.conf").write_text(f"{more}\nNodeName={nodes}\nPartitionName=p Nodes=ALL\n")
    (tmp_path / "log.sacct").write_text(
        f"JobID|AllocCPUS|NNodes|Submit|Elapsed|ReqTRES\n1|8|2|100|00:01:00|cpu=8,{tres}\n"
    )
    found = of_site(str(tmp_path / "slurm.conf"), {})
    asked = _submissions(read_workload(tmp_path / "log.sacct"), found, recorded=False)
    assert [one for one in asked.fields[0] if one.startswith(("gres", "nodes", "most_nodes"))] == wanted
    said = [*found.replaced, *asked.notes]
    assert said == [] if note is None else any(one.startswith(note) for one in said)


BY_STARTS = "priorities are in the order of the recorded starts: {} of {} jobs have none in the log"


def test_which_priorities_are_used(tmp_path: Path) -> None:
    path, found = tmp_path / "log.sacct", of_machine({}, machine(4, 1))
    plain = _TEXTS["dump"].replace("|fast&new", "|")
    but_for = "priorities are those of the log, except for 1 of 2 jobs, which have none there: "
    for dump, recorded, notes in (
        (plain, True, (f"{but_for}these have that of the job submitted before",)),
        (plain.replace("None assigned||\n", "None assigned||7\n"), True, ("priorities are those of the log",)),
        (plain, False, ()),
    ):
        path.write_text(dump)
        assert _submissions(read_workload(path), found, recorded=recorded).notes == notes
    workload = read_workload(path)
    path.unlink()
    lost = f"{path}: no longer exists: its columns besides the usual ones are unknown"
    assert _submissions(workload, found).notes == (lost, BY_STARTS.format(2, 2))


def test_partitions_and_users_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    names = ("night Nodes=ALL", "7 Nodes=ALL", "day Nodes=ALL Default=YES")
    path.write_text("\n".join(["NodeName=n[0-3] CPUs=1", *(f"PartitionName={name}" for name in names), ""]))
    found = of_site(str(path), {})
    assert partition_names(found) == ["night", "7", "day"]
    job = {"run_s": 1, "cores": 1}
    jobs = [job | {"job_id": k, "submit_s": k, "user": 5 * k - 6, "queue": k, "partition": 6 + k} for k in (1, 2, 3)]
    workload = Workload.from_jobs(jobs).take(np.arange(3), header=("; Queue: 2 night", "; Queue: 3 gone"))
    asked = _submissions(workload, found, recorded=False)
    partitions = [[word for word in fields if word.startswith("partition")] for fields in asked.fields]
    assert partitions == [["partition=7"], ["partition=night"], []]
    users = [next(word for word in fields if word.startswith("user")) for fields in asked.fields]
    assert users[1:] == [f"user={FIRST_USER + 1}", f"user={FIRST_USER + 2}"]
    assert asked.notes == ("1 job of partition gone, which slurm.conf does not have, go to the default one",)


@pytest.mark.parametrize(
    ("kind", "wanted"), [("basic", [70, 70, 70, 50, 50, 90]), ("multifactor", [None, 70, None, 50, None, 90])]
)
def test_jobs_without_a_recorded_priority_have_a_neighbours_or_slurms_own(kind: str, wanted: list[int | None]) -> None:
    workload = Workload.from_jobs([(k, k, 1, 1, 1) for k in range(1, 7)])
    found = of_machine({"PriorityType": f"priority/{kind}"}, machine(1, 1))
    asked = _submissions(workload, found, priority=(-1, 70, 0, 50, 2**31, 90))  # 0 would hold it
    given = [[int(one[9:]) for one in fields if one.startswith("priority=")] for fields in asked.fields]
    assert given == [[] if value is None else [value] for value in wanted]
    assert asked.notes[0].startswith("priorities are those of the log, except for 3 of 6 jobs, which have none there: ")


def test_recorded_priorities_of_jobs_whose_start_is_unknown() -> None:
    def ordered(*waits_s: float | None) -> tuple[list[str], tuple[str, ...]]:
        rows = [{"job_id": k, "submit_s": k, "run_s": 1, "cores": 1} for k in range(1, len(waits_s) + 1)]
        rows = [row if wait is None else row | {"wait_s": wait} for row, wait in zip(rows, waits_s, strict=True)]
        asked = _submissions(Workload.from_jobs(rows), of_machine({}, machine(1, 1)))
        given = {fields[0]: int(fields[-1].removeprefix("priority=")) for fields in asked.fields}
        return sorted(given, key=lambda name: -given[name]), asked.notes

    assert ordered(9, 2, 5) == (["name=2", "name=3", "name=1"], (BY_STARTS.format(3, 3),))
    lowest = "2 jobs without a recorded start, and with --priorities recorded the lowest priorities"
    assert ordered(9, None, 5, None) == (["name=3", "name=1", "name=2", "name=4"], (BY_STARTS.format(4, 4), lowest))
    with pytest.raises(InputError, match=r"priorities='recorded': the log has neither .* allowed: slurm"):
        ordered(None, None)


def test_states_of_nodes(tmp_path: Path) -> None:
    path, platform = tmp_path / "failures.csv", machine(3, 2)
    path.write_text("host,down_s,up_s\n1,10,20\n1,30,\n0,5,50\n")
    states = NodeStates(read_outages(path, platform))
    assert states.first() == [(5 * S, 0), (10 * S, 1)]
    assert (states.change(0), states.change(1), states.any_down) == (50 * S, 20 * S, True)
    assert (states.change(1), states.change(1)) == (30 * S, None)  # for ever
    assert [states.down(host) for host in range(3)] == [True, True, False]
    assert (states.change(0), states.any_down) == (None, False)
    down = states.downtime(platform, JobConstraints(), 40 * S)
    assert (down.host.tolist(), down.cores.tolist()) == ([0, 1, 1], [2, 2, 2])
    assert (down.up_ns // S).tolist() == [40, 20, 40]
    model = OutageModel(100 * S, 10 * S, 3)
    states = NodeStates(modelled_outages(model, 2, 1))
    instants = [states.first()[1][0], *(states.change(1) for _ in range(19))]
    outages = model.draw(1, 10)
    assert instants == np.stack(outages, axis=1).ravel().tolist()
    assert outages[0][-1] < NEVER
