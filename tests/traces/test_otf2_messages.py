"""Messages between cores, and waiting for them, in OTF2: as two readers see them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import otf2
import pytest
from ledgers import Job, ledger, machine, transfer_records
from test_otf2 import files_of
from test_transfers import GRAPH, sound

from traces.checks.ledger import InvariantError
from traces.exporters.otf2 import write_otf2
from traces.exporters.otf2.checks import check_nesting
from traces.exporters.otf2.library import reading
from traces.exporters.shown.batch_level import REGIONS
from traces.ledger import Ledger

#: (time, kind, what): Enter and Leave of a region, Send and Recv with peer, tag and bytes.
Event = tuple[int, str, object]


def events_of(path: Path) -> tuple[dict[int, list[Event]], list[int]]:
    """The events of each core, in the order in which they are stored, and how many its definition says."""
    found: dict[int, list[Event]] = defaultdict(list)
    with reading(path) as trace:
        locations = list(trace.definitions.locations)
        core_of = {location: core for core, location in enumerate(locations)}
        for location, event in trace.events:
            kind, here = type(event).__name__, found[core_of[location]]
            if kind in ("Enter", "Leave"):
                here.append((event.time, kind, event.region.name))
            elif kind == "MpiSend":
                assert event.communicator.name == "cores"
                assert core_of[event.communicator.location(event.receiver)] == event.receiver
                here.append((event.time, "Send", (event.receiver, event.msg_tag, event.msg_length)))
            elif kind == "MpiRecv":
                here.append((event.time, "Recv", (event.sender, event.msg_tag, event.msg_length)))
            else:
                assert kind == "Metric"
        return found, [location.number_of_events for location in locations]


def test_the_order_of_events_by_hand(tmp_path: Path) -> None:
    of = sound()
    found, _ = events_of(write_otf2(of, tmp_path))
    assert found[1] == [
        (10, "Enter", "job 7"),
        (13, "Leave", "job 7"),
        (16, "Enter", "wait for data"),
        (20, "Recv", (0, 0, 4_000_000)),
        (20, "Leave", "wait for data"),
        (20, "Enter", "job 7"),
        (24, "Leave", "job 7"),
        (24, "Send", (2, 2, 2)),
        (60, "Enter", "job 8"),
        (61, "Leave", "job 8"),
        (61, "Send", (3, 3, 8)),
    ]
    assert found[2] == [
        (24, "Enter", "wait for data"),
        (25, "Recv", (0, 1, 1000)),
        (30, "Recv", (1, 2, 2)),
        (30, "Leave", "wait for data"),
        (30, "Enter", "job 7"),
        (40, "Leave", "job 7"),
    ]


def test_a_message_may_fall_into_another_task_and_overtake(tmp_path: Path) -> None:
    """Core 0 computes on while it sends; the second message arrives first, and is told from the first by its tag."""
    tasks = [(0, 0, 0, 2), (0, 1, 2, 9), (1, 2, 8, 9), (1, 3, 9, 12), (0, 4, 9, 10)]
    transfers = [(0, 2, 5.0, 3, 8), (0, 3, 1e30, 4, 7)]
    of = ledger(machine(2), [Job(1, 0, 0, 12, [(0, 2)], tasks, transfers=transfers)], with_transfers=True)
    path = write_otf2(of, tmp_path)
    found, _ = events_of(path)
    assert found[0] == [
        (0, "Enter", "job 1"),
        (2, "Leave", "job 1"),
        (2, "Enter", "job 1"),
        (3, "Send", (1, 0, 5)),
        (4, "Send", (1, 1, 2**62)),
        (9, "Leave", "job 1"),
        (9, "Enter", "job 1"),
        (10, "Leave", "job 1"),
    ]
    assert found[1][:4] == [
        (3, "Enter", "wait for data"),
        (7, "Recv", (0, 1, 2**62)),
        (8, "Recv", (0, 0, 5)),
        (8, "Leave", "wait for data"),
    ]
    assert check_nesting(path) == 6 + 3  # and the job's submit, queued, running


def test_definitions(tmp_path: Path) -> None:
    with reading(write_otf2(sound(), tmp_path)) as trace:
        (comm,) = trace.definitions.comms
        kinds = [str(group.group_type) for group in trace.definitions.groups]
        assert kinds == ["GroupType.COMM_LOCATIONS", "GroupType.COMM_GROUP"]
        names = [f"host {host} core {core}" for host in (0, 1) for core in (0, 1)]
        assert [[one.name for one in group.members] for group in trace.definitions.groups] == [names, names]
        assert comm.group is list(trace.definitions.groups)[1]
        region = list(trace.definitions.regions)[3]
        assert (region.name, str(region.region_role)) == ("wait for data", "RegionRole.POINT2POINT")
        assert len(list(trace.definitions.regions)) == 4 + len(REGIONS)


def test_otf2_print_reads_it(tmp_path: Path) -> None:
    ran = subprocess.run(["otf2-print", str(write_otf2(sound(), tmp_path))], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    lines = re.findall(r"^(MPI_SEND|MPI_RECV) +(\d+) +(\d+) +(.*)$", ran.stdout, re.MULTILINE)
    assert [(kind, int(location), int(time)) for kind, location, time, _ in lines] == [
        ("MPI_SEND", 0, 16),
        ("MPI_RECV", 1, 20),
        ("MPI_SEND", 0, 23),
        ("MPI_SEND", 1, 24),
        ("MPI_RECV", 2, 25),
        ("MPI_RECV", 2, 30),
        ("MPI_SEND", 1, 61),
        ("MPI_RECV", 3, 62),
    ]
    assert lines[0][3] == 'Receiver: 1 ("host 0 core 1" <1>), Communicator: "cores" <0>, Tag: 0, Length: 4000000'


def test_without_transfers_the_bytes_are_those_of_a_run_without_network(tmp_path: Path) -> None:
    alone = ledger(machine(2, 2), [GRAPH])
    none = Ledger(alone.machine, alone.jobs, alone.tasks, transfer_records(1, []))
    found = [files_of(write_otf2(of, tmp_path / name).parent) for of, name in ((alone, "a"), (none, "b"))]
    for files in found:
        del files["traces.otf2"]
    assert found[0] == found[1]
    assert b"wait for data" not in found[0]["traces.def"]


def test_without_the_jit_the_bytes_are_the_same(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from test_transfers import sound;"
        "from traces.exporters.otf2 import write_otf2; from traces.checks.ledger import check_ledger;"
        "of = sound(); check_ledger(of); write_otf2(of, Path(sys.argv[1]))"
    )
    here = Path(__file__).parent
    env = dict(
        os.environ, NUMBA_DISABLE_JIT="1", PYTHONPATH=os.pathsep.join(map(str, (here, here.parent, here.parent.parent)))
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "slow")], env=env, check=True)
    write_otf2(sound(), tmp_path / "fast")
    slow, fast = files_of(tmp_path / "slow"), files_of(tmp_path / "fast")
    del slow["traces.otf2"], fast["traces.otf2"]
    assert slow == fast


def test_a_transfer_that_cannot_have_been_is_not_written(tmp_path: Path) -> None:
    of = ledger(machine(2, 2), [GRAPH])
    wrong = Ledger(of.machine, of.jobs, of.tasks, transfer_records(1, [(0, (0, 9, 1.0, 16, 20))]))
    with pytest.raises(InvariantError, match="job 7, transfer 0 -> 9"):
        write_otf2(wrong, tmp_path / "t")
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    ("sent", "received", "message"),
    [
        ([(3, 7, 10)], [(3, 7, 10)], None),
        ([(3, 7, 10), (4, 7, 1)], [(5, 7, 10), (6, 7, 1)], None),
        ([(3, 7, 10)], [(2, 7, 10)], "core 0 to core 1, tag 7: a message is received at 2 ns, but sent at 3 ns"),
        ([(3, 7, 10)], [], "core 0 to core 1, tag 7: 1 messages are sent, 0 received"),
        ([], [(3, 7, 10)], "core 0 to core 1, tag 7: 0 messages are sent, 1 received"),
        ([(3, 6, 10)], [(3, 7, 10)], "core 0 to core 1, tag [67]: "),
        ([(3, 7, 10)], [(4, 7, 11)], "core 0 to core 1, tag 7: a message has 10 bytes, but 11 when it is received"),
    ],
)
def test_faults_of_messages_are_named(
    tmp_path: Path, sent: list[tuple[int, int, int]], received: list[tuple[int, int, int]], message: str | None
) -> None:
    with otf2.writer.open(str(tmp_path / "t"), timer_resolution=10**9) as trace:
        define = trace.definitions
        host = define.location_group("host", system_tree_parent=define.system_tree_node("node"))
        cores = [define.location(f"core {k}", group=host) for k in range(2)]
        for kind in (otf2.GroupType.COMM_LOCATIONS, otf2.GroupType.COMM_GROUP):
            group = define.group("cores", group_type=kind, paradigm=otf2.Paradigm.MPI, members=cores)
        comm = define.comm("cores", group=group)
        for core, rows in enumerate((sent, received)):
            writer = trace.event_writer_from_location(cores[core])
            for time, tag, size in rows:
                (writer.mpi_recv if core else writer.mpi_send)(time, 1 - core, comm, tag, size)
    path = tmp_path / "t" / "traces.otf2"
    if message is None:
        assert check_nesting(path) == 0
    else:
        with pytest.raises(InvariantError, match=message):
            check_nesting(path)
