"""The parts of a replay, which hardly need Slurm: its clock, its messages, host lists, and what is made of a slurm.conf."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from slurm_here import machine, needs_slurm, replayed

from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from bridge.replay.allocation import Cores
from bridge.replay.asking import Asking
from bridge.replay.book import REQUEUED, Book
from bridge.replay.clock import NEVER, Clock
from bridge.replay.configuration import of_machine, settings
from bridge.replay.host_names import compressed, counted, expanded
from bridge.replay.installed import installed_slurm
from bridge.replay.keys import OWN
from bridge.replay.messages import (
    LAYOUTS,
    Kind,
    Launch,
    MessageError,
    framed,
    opened,
    stopped_job,
    whole_messages,
)
from bridge.replay.native import clock_library, requests_program
from bridge.replay.site import of_site
from traces.base.errors import InputError, PeerError

V = LAYOUTS["22.05"]

# ---- the clock ----

_ORDER = """\
sleeper3 1000000001.000000
sleeper2 1000000001.001000
sleeper1 1000000001.002000
sleeper3 1000000002.001000
sleeper2 1000000002.002000
sleeper1 1000000002.003000
timed out 1 1000000002.500000
sleeper3 1000000003.002000
sleeper2 1000000003.003000
sleeper1 1000000003.004000
signalled 1 1000003600.000000
end 0 1000003600.000000
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("toy") / "toy"
    source = Path(__file__).with_name("toy_sleepers.c")
    subprocess.run(["cc", "-O1", "-o", program, source, "-lpthread"], check=True)
    return program


def _environment(folder: Path, library: Path) -> dict[str, str]:
    return {
        **os.environ,
        "LD_PRELOAD": str(library),
        "TWOLEVEL_REPLAY_CLOCK": str(folder / "clock"),
        "TWOLEVEL_REPLAY_SOCKETS": str(folder),
        "TWOLEVEL_REPLAY_PARENT": str(os.getpid()),
    }


def test_threads_run_one_at_a_time_and_no_time_passes_while_they_do(toy: Path, tmp_path: Path) -> None:
    library = clock_library(tmp_path)
    for _ in range(2):
        clock = Clock(tmp_path / "clock", library, 10**18)
        program = subprocess.Popen([toy], env=_environment(tmp_path, library), stdout=subprocess.PIPE, text=True)
        assert clock.await_turn(30)
        assert (clock.now_ns, clock.wake_ns) == (10**18, 10**18 + 10**9)  # no wait ends by itself
        clock.pass_turn(NEVER, 0)  # it ends in its turn
        assert program.communicate(timeout=30)[0] == _ORDER
        clock.close()


def test_locks_memory_and_signals_are_as_without_the_clock(tmp_path: Path) -> None:
    library, program = clock_library(tmp_path), tmp_path / "locks"
    subprocess.run(["cc", "-O1", "-o", program, Path(__file__).with_name("toy_locks.c"), "-lpthread"], check=True)
    plain = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    clock = Clock(tmp_path / "clock", library, 10**18)
    under = subprocess.Popen([program], env=_environment(tmp_path, library), stdout=subprocess.PIPE, text=True)
    assert clock.await_turn(30)
    clock.pass_turn(NEVER, 0)
    assert under.communicate(timeout=30)[0] == plain
    assert under.returncode == 0
    assert "read, and awaited: read Device or resource busy" in plain  # of the lock that lets writers first
    assert plain.endswith("a child: signal 13\n")
    clock.close()


# ---- messages ----


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
    with pytest.raises(MessageError, match=said):
        opened(spoil(raw), V)  # type: ignore[operator]


# ---- host lists ----

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
        ("n[1-", "brackets in 'n\\[1-'"),
        ("n]1[", "brackets in"),
        ("n[1-[2-3]]", "brackets"),
        ("n[0-99999999]", "'n\\[0-99999999\\]' has 100,000,000 hosts; allowed: at most 65,536"),
        ("n[0-999][0-999]", "has 1,000,000 hosts; allowed: at most 65,536"),
        (",".join(["n[1-9999]"] * 10), "has 99,990 hosts"),
        ("n[0-999999999999999999][0-9]", r"has more than 10\*\*12 hosts"),
        (f"n[0-{_DIGITS}]", "is not a number or a range; allowed: as n"),
        ("n[²]", "'²' is not a number or a range"),
        ("n[1_0]", "is not a number or a range"),
        ("n[5-3]", "'5-3' is not a number or a range"),
        ("n[1,,2]", "'' is not a number or a range"),
        ("n 1", "'n 1' is no name of a host"),
        ('a"b', "is no name of a host; allowed: letters, digits"),
    ],
)
def test_what_is_no_host_list_or_too_long_a_one(text: str, said: str) -> None:
    began_s = time.process_time()
    with pytest.raises(ValueError, match=said) as error:
        expanded(text)
    assert time.process_time() - began_s < 1.0
    assert len(str(error.value)) < 200


def test_cores_are_the_lowest_that_are_free() -> None:
    cores, host = Cores(machine(2, 4).first_core), {"n0": 0, "n1": 1}
    first = cores.take(Launch(1, "n[0-1]", (2, 1)), host, "job 1")
    assert first == [(0, 2), (4, 5)]
    assert cores.take(Launch(2, "n0", (2,)), host, "job 2") == [(2, 4)]
    cores.free(first)
    assert cores.take(Launch(3, "n[0-1]", (1, 4)), host, "job 3") == [(0, 1), (4, 8)]
    with pytest.raises(PeerError, match="job 4 on 2 cores of n0, of which 1 are free"):
        cores.take(Launch(4, "n0", (2,)), host, "job 4")
    with pytest.raises(PeerError, match="n9, which is no node"):
        cores.take(Launch(4, "n9", (2,)), host, "job 4")


def test_a_job_that_was_cut_waits_again_as_its_next_attempt() -> None:
    book = Book(Workload.from_jobs([(1, 0, 5, 1, 9)]), machine_of(1, 1).first_core, {"n0": 0})
    book.submit(0, 1)
    for attempt in range(3):
        row = book.row_of[1]
        assert (int(book.columns.attempt[row]), int(book.columns.start_ns[row]), book.waiting) == (attempt, -1, 1)
        book.start(row, Launch(1, "n0", (1,)), 10 * attempt)
        book.end(row, REQUEUED, 10 * attempt + 5)
        book.requeue(row, 10 * attempt + 5)
    assert book.over_for_good(0) == -1


def machine_of(hosts: int, cores: int) -> Platform:
    return Platform((HostGroup(hosts, cores, 1.0),))


# ---- slurm.conf ----

_SITE = """\
# of a site
ClusterName=big
SlurmctldHost=head
AuthType=auth/munge
Prolog=/etc/slurm/prolog.sh
SchedulerType=sched/builtin
PriorityWeightJobSize=100   # with a remark
NodeName=DEFAULT CPUs=4 RealMemory=1000
NodeName=n[01-03] NodeAddr=10.1.0.[1-3] Feature=fast \\
   Weight=2
NodeName=fat Sockets=2 CoresPerSocket=8 ThreadsPerCore=2 CPUs=32 Gres=gpu:2
PartitionName=batch Nodes=n[01-03],fat Default=YES MaxTime=60 AllowAccounts=a,b State=UP
"""


def test_a_sites_file_is_taken_and_what_is_replaced_is_listed(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(_SITE)
    found = of_site(str(tmp_path / "slurm.conf"), settings(["priorityweightjobsize=5"]))
    assert found.keys == {"SchedulerType": "sched/builtin", "PriorityWeightJobSize": "5"}
    assert [(node.name, node.cpus) for node in found.nodes] == [("n01", 4), ("n02", 4), ("n03", 4), ("fat", 32)]
    assert [group.count for group in found.platform().hosts] == [3, 1]
    assert found.partitions == ("PartitionName=batch Nodes=n[01-03],fat Default=YES MaxTime=60 State=UP",)
    assert found.replaced == (
        "ClusterName=big: replay (where slurmctld is and keeps its files)",
        "SlurmctldHost=head: localhost(127.0.0.1) (where slurmctld is and keeps its files)",
        "AuthType=auth/munge: auth/none (whom slurmctld trusts)",
        "Prolog=/etc/slurm/prolog.sh: left out (no program of a file is run)",
        "NodeAddr of nodes: left out (simulated nodes have addresses of the replay)",
        "AllowAccounts of partitions: left out (accounts, groups and QOS are not known)",
    )
    lines = found.text(5).splitlines()
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
    lines = [line.split()[:3:2] for line in ours.text(1).splitlines() if line.startswith("NodeName=")]
    assert lines == [
        ["NodeName=n[0-301]", "NodeAddr=10.0.0.[1-255],10.0.1.[0-46]"],
        ["NodeName=n302", "NodeAddr=10.0.1.47"],
    ]
    (tmp_path / "slurm.conf").write_text("NodeName=a[1-2] CPUs=4\nNodeName=a[3-4] CPUs=4\nPartitionName=p Nodes=ALL\n")
    lines = [line.split()[:3:2] for line in of_site(str(tmp_path / "slurm.conf"), {}).text(1).splitlines()]
    assert [line for line in lines if line[0].startswith("NodeName=")] == [
        ["NodeName=a[1-2]", "NodeAddr=10.0.0.[1-2]"],
        ["NodeName=a[3-4]", "NodeAddr=10.0.0.[3-4]"],
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (
            "AccountingStorageEnforce=limits",
            "needs slurmdbd, which is not here; allowed: AccountingStorageEnforce=none",
        ),
        ("PreemptType=preempt/qos", "needs preemption, which a replay does not follow"),
        ("Include nodes.conf", "line 2: Include: other files are not read"),
        ("NodeName=n1 CPUs=two", "line 2: .*two"),
        ("NodeName=n1 Colour=red", "line 2: Colour: is no key of nodes; allowed: Boards, CPUs"),
        ("what is this", "line 2: 'what is this'; allowed: KEY=VALUE"),
        ("", "has no NodeName"),
        # Nodes are counted before they are expanded.
        ("NodeName=n[0-99999999] CPUs=1", r"line 2: 'n\[0-.*hosts; allowed: at most [0-9]+,[0-9]+$"),
        ("NodeName=a[0-40000] CPUs=1\nNodeName=b[0-40000] CPUs=1", r"line 3: 'b\[0-.*hosts; allowed: at most [0-9]+,"),
        ("PartitionName=q Nodes=n[0-99999999]", r"line 2: 'n\[0-.*hosts; allowed: at most [0-9]+,[0-9]+$"),
    ],
)
def test_what_a_sites_file_may_not_say(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "slurm.conf").write_text(f"PartitionName=all Nodes=ALL\n{line}\n")
    with pytest.raises(InputError, match=said):
        of_site(str(tmp_path / "slurm.conf"), {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Foo", "allowed: KEY=VALUE"),
        ("slurmctldport=7", "SlurmctldPort: is the replay's own"),
        ("NodeName=x", "given by --slurm-conf"),
        ("PreemptType=preempt/qos", "allowed: PreemptType=preempt/none"),
        ("PriorityWeightAge=1000", "needs slurmdbd, which is not here; allowed: PriorityWeightAge=0"),
    ],
)
def test_what_may_not_be_set(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        settings([text])


def test_of_a_machine_with_one_core_a_host_whole_hosts_are_given() -> None:
    assert of_machine({}, machine(4, 1)).keys["SelectType"] == "select/linear"
    assert of_machine({}, machine(4, 2)).keys["SelectTypeParameters"] == "CR_Core"
    assert "SelectTypeParameters" not in of_machine({"selecttype": "select/linear"}, machine(4, 2)).keys
    assert OWN["AuthType"] == "auth/none"


# ---- the installed one ----


def test_an_unknown_slurm_is_refused_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "slurmctld"
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("bridge.replay.installed._FURTHER", ())
    with pytest.raises(InputError, match="needs Slurm, and there is no slurmctld; Debian's packages are slurmctld"):
        installed_slurm()
    other.write_text("#!/bin/sh\necho slurm 99.05.1\n")
    other.chmod(0o700)
    with pytest.raises(InputError, match=r"slurmctld is slurm 99\.05\.1; allowed: 22\.05"):
        installed_slurm()
    other.write_text("#!/bin/sh\necho slurm-wlm 22.05.8\n")
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
        said = "the log's date, 1970-01-0{}, is too early for Slurm; its time 0 is 2001-01-01"
        assert done.notes == {"zero": (said.format(1),), "early": (said.format(2),)}.get(name, ())
    assert starts[0] == starts[1] == starts[2]
    modes = [stat.S_IMODE((tmp_path / "no" / name).stat().st_mode) for name in ("", "slurm.conf", "slurmctld.log")]
    (tmp_path / "by_hand").mkdir()
    assert modes[0] == stat.S_IMODE((tmp_path / "by_hand").stat().st_mode)
    assert modes[1] == modes[2]


@pytest.mark.whole
@needs_slurm
def test_a_request_with_too_many_fields_or_too_long_a_line_is_refused_and_the_next_one_is_heard(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(of_machine({}, machine(1, 1)).text(1))
    program = requests_program(installed_slurm().release, tmp_path)
    asked = ["\t".join(["submit", *["name=1"] * 40]), f"submit\tname={'1' * (1 << 20)}", "so\tso"]
    text, environment = "\n".join([*asked, ""]), {"SLURM_CONF": str(tmp_path / "slurm.conf")}
    said = subprocess.run([program], input=text, env=environment, capture_output=True, text=True, check=True).stdout
    refused = ("too many fields", "a line is too long", "no such request")
    assert said.splitlines()[1:] == [f"error -1 {why}" for why in refused]


def test_why_a_job_does_not_start_is_not_asked_of_slurm_if_it_was_not_submitted() -> None:
    asking = Asking.__new__(Asking)
    asking._book = SimpleNamespace(number={})  # type: ignore[assignment]
    assert asking.why_not(3) == "it was not submitted, as the job that it waits for was not"
