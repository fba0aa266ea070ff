"""What a trace is made of, without Slurm: switches, words of a log, states of nodes, what a job asks for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bls.constraints.job_constraints import JobConstraints
from bls.constraints.outages import NEVER, OutageModel, modelled_outages, read_outages
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.machine.switches import Switch
from bls.workloads import read_workload
from bls.workloads.readers.sacct_words import sacct_words
from bls.workloads.workload import Workload
from bridge.replay.complaints import check_taken, complaints
from bridge.replay.configuration import of_machine, partition_names
from bridge.replay.run import ReplayOptions
from bridge.replay.site import of_site
from bridge.replay.trace.log_words import log_words
from bridge.replay.trace.node_states import NodeStates
from bridge.replay.trace.submissions import FIRST_USER, submissions
from bridge.replay.trace.switch_file import given_switches, read_switches, switches_of, switches_text
from bridge.scenarios.scenario import Scenario
from traces.base.errors import InputError

S = 10**9

_NODES = ("n0", "n1", "n2", "n3")

# ---- switches ----


def test_a_topology_conf_is_read_and_written_and_is_a_platforms_switches(tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(
        "# a tree\nSwitchName=s0 Nodes=n[0-1] LinkSpeed=10\n\nswitchname=s1 nodes=n2,n3\nSwitchName=top Switches=s[0-1]\n"
    )
    found = read_switches(str(path), _NODES)
    assert (
        switches_text(found)
        == "SwitchName=s0 Nodes=n[0-1]\nSwitchName=s1 Nodes=n[2-3]\nSwitchName=top Switches=s[0-1]\n"
    )
    ours = switches_of(found, _NODES)
    assert ours == (Switch("s0", "0-1"), Switch("s1", "2-3"), Switch("top", switches=("s0", "s1")))
    assert given_switches(ours, _NODES) == found


def test_switches_of_a_platform_have_names_that_slurm_can_have(tmp_path: Path) -> None:
    ours = (Switch("leaf 0", "0-1"), Switch("b", "2-3"), Switch("top", switches=("leaf 0", "b")))
    text = "SwitchName=s0 Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\nSwitchName=top Switches=s0,b\n"
    assert switches_text(given_switches(ours, _NODES)) == text
    path = tmp_path / "switches.toml"
    path.write_text(
        '[[switches]]\nname = "leaf 0"\nhosts = "0-1"\n[[switches]]\nname = "b"\nhosts = "2-3"\n'
        '[[switches]]\nname = "top"\nswitches = ["leaf 0", "b"]\n'
    )
    assert switches_text(read_switches(str(path), _NODES)) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SwitchName=s0 Nodes=n[0-9]", r"line 1: node 'n4' is not of the machine; allowed: n\[0-3\]"),
        ("SwitchName=s0 Nodes=n[0-", "line 1: brackets"),
        ("SwitchName=s0 Nodes=n[0-99999999]", "line 1: .* has 100,000,000 hosts; allowed: at most 65,536"),
        ("SwitchName=s0 Switches=s[0-99999999]", "line 1: .* has 100,000,000 hosts"),
        ("SwitchName=s0 Nodes=n[²]", "line 1: '²' is not a number or a range"),
        (f"SwitchName=s0 Nodes=n[0-{'9' * 5000}]", "line 1: .* is not a number or a range"),
        ('SwitchName=s"0 Nodes=n0', "line 1: 's\"0' is no name; allowed: letters"),
        ("SwitchName=s0 Switches=s1", "switch s0: there is no switch 's1' below it"),
        ("\nSwitchName=s0", "line 2: .*allowed: SwitchName=NAME and either"),
        ("SwitchName=s0 Nodes=n0 Colour=red", "Colour: is not known|colour: is not known"),
        ("# nothing", "has no SwitchName"),
        ('[[switches]]\nname = "a"\nhosts = "0-2"', "host 3"),
    ],
)
def test_a_file_of_switches_that_cannot_be_used(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "t").write_text(text)
    with pytest.raises(InputError, match=said):
        read_switches(str(tmp_path / "t"), _NODES)


def test_switches_that_a_platform_cannot_have(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("SwitchName=a Nodes=n[0,2]\nSwitchName=b Nodes=n3\n")
    found = read_switches(str(tmp_path / "t"), _NODES)
    with pytest.raises(InputError, match="host 1 is on no leaf switch"):
        switches_of(found, _NODES)


# ---- a log's words ----

_DUMP = (
    "JobID|User|Partition|NCPUS|ReqNodes|Submit|Start|Elapsed|State|NodeList|Constraints|Priority\n"
    "1|ann|day|2|2|100|150|00:01:00|COMPLETED|n[0-1]|fast&new|10\n"
    "1.batch|||1||150|150|00:01:00|COMPLETED|n0||\n"
    "2|bob|night|1|1|90|None|00:00:00|CANCELLED|None assigned||11\n"
    "3|bob|night|1|1|80|160|00:01:00|COMPLETED|None assigned||\n"
)


def test_words_of_a_dump_are_read_again_by_line_and_job(tmp_path: Path) -> None:
    path = tmp_path / "log.sacct"
    path.write_text(_DUMP)
    assert sacct_words(path, {2: 1, 3: 7, 5: 4})[1]["node_list"] == "n[0-1]"
    assert list(sacct_words(path, {2: 1, 3: 7, 5: 4})) == [1]  # the others are of other jobs
    workload = read_workload(path)
    words = log_words(workload)
    assert workload.job_id.tolist() == [3, 1]
    assert words.nodes == ("", "n[0-1]")
    assert words.features == ("", "fast&new")
    assert words.priority == (-1, 10)
    assert words.least_nodes == (1, 2)
    assert words.partitions == {1: ("day",), 2: ("night",)}


def test_which_priorities_are_used_and_what_a_dump_that_is_gone_does_not_say_is_told(tmp_path: Path) -> None:
    path = tmp_path / "log.sacct"

    def told(dump: str, *, gone: bool = False, recorded: bool = True) -> tuple[str, ...]:
        path.write_text(dump)
        workload = read_workload(path)
        if gone:
            path.unlink()
        scenario = Scenario.of(workload, Platform((HostGroup(4, 1, 46.875),)), ReplayOptions(als="recorded"))
        found = of_machine({}, scenario.platform)
        return submissions(scenario, found, log_words(workload), recorded_priorities=recorded).notes

    plain = _DUMP.replace("|fast&new", "|")
    by_starts = "priorities are by the order of the recorded starts: {} of 2 jobs have none in the log"
    but_for = "priorities are those of the log, but for 1 of 2 jobs, which have none there: "
    assert told(plain) == (f"{but_for}these have that of the job submitted before",)
    assert told(plain.replace("None assigned||\n", "None assigned||7\n")) == ("priorities are those of the log",)
    assert told(plain, recorded=False) == ()
    lost = f"{path}: is not there any more: what it says beside the usual columns is not known"
    assert told(plain, gone=True) == (lost, by_starts.format(2))


def test_words_of_a_header() -> None:
    workload = Workload.from_lines(
        [np.array([1])] * 6,
        header=(
            "; Queue: 2 name: night (all of it)",
            "; Partition: x y",
            "; Partition: ² c",
            f"; Queue: {'9' * 5000} d",
            "; Queue:",
            "; Note: Queue: 3 no",
        ),
        rejects={},
        source="a log",
        n_lines=1,
    )
    assert log_words(workload).queues == {2: ("name", "night", "all", "of", "it")}
    assert log_words(workload).partitions == {}


def test_partitions_and_users_of_a_log(tmp_path: Path) -> None:
    path = tmp_path / "slurm.conf"
    path.write_text(
        "NodeName=n[0-3] CPUs=1\nPartitionName=night Nodes=ALL\nPartitionName=7 Nodes=ALL\n"
        "PartitionName=day Nodes=ALL Default=YES\n"
    )
    found = of_site(str(path), {})
    assert partition_names(found) == ["night", "7", "day"]
    rows = [
        {"job_id": k, "submit_s": k, "run_s": 1, "cores": 1, "user": 5 * k - 6, "queue": k, "partition": 6 + k}
        for k in (1, 2, 3)
    ]
    workload = Workload.from_jobs(rows)
    workload = workload.take(np.arange(3), header=("; Queue: 2 night", "; Queue: 3 gone"))
    scenario = Scenario.of(workload, found.platform(), ReplayOptions(als="recorded"))
    asked = submissions(scenario, found, log_words(workload), recorded_priorities=False)
    partitions = [[word for word in fields if word.startswith("partition")] for fields in asked.fields]
    assert partitions == [["partition=7"], ["partition=night"], []]
    users = [next(word for word in fields if word.startswith("user")) for fields in asked.fields]
    assert users[1:] == [f"user={FIRST_USER + 1}", f"user={FIRST_USER + 2}"]
    assert asked.notes == ("1 job of partition gone, which slurm.conf does not have, go to the default one",)


def _recorded(*waits_s: float | None) -> tuple[list[str], tuple[str, ...]]:
    # The priorities of jobs of one host that have waited so long, or nobody knows how long; and what is said.
    rows = [
        {"job_id": k, "submit_s": k, "run_s": 1, "cores": 1, **({} if wait is None else {"wait_s": wait})}
        for k, wait in enumerate(waits_s, 1)
    ]
    workload, platform = Workload.from_jobs(rows), Platform((HostGroup(1, 1, 46.875),))
    scenario = Scenario.of(workload, platform, ReplayOptions(als="recorded"))
    asked = submissions(scenario, of_machine({}, platform), log_words(workload), recorded_priorities=True)
    given = {fields[0]: int(fields[-1].removeprefix("priority=")) for fields in asked.fields}
    return sorted(given, key=lambda name: -given[name]), asked.notes


def test_jobs_without_a_recorded_priority_have_a_neighbours_or_slurms_own() -> None:
    workload = Workload.from_jobs([(k, k, 1, 1, 1) for k in range(1, 7)])
    platform = Platform((HostGroup(1, 1, 46.875),))
    scenario = Scenario.of(workload, platform, ReplayOptions(als="recorded"))
    words = replace(log_words(workload), priority=(-1, 70, 0, 50, 2**31, 90))  # 0 would hold it
    for kind, wanted in (("basic", [70, 70, 70, 50, 50, 90]), ("multifactor", [None, 70, None, 50, None, 90])):
        found = of_machine({"PriorityType": f"priority/{kind}"}, platform)
        asked = submissions(scenario, found, words, recorded_priorities=True)
        given = [[int(one[9:]) for one in fields if one.startswith("priority=")] for fields in asked.fields]
        assert given == [[] if value is None else [value] for value in wanted]
        assert asked.notes[0].startswith(
            "priorities are those of the log, but for 3 of 6 jobs, which have none there: "
        )


def test_recorded_priorities_of_jobs_whose_start_nobody_knows() -> None:
    said = "priorities are by the order of the recorded starts: {0} of {0} jobs have none in the log"
    assert _recorded(9, 2, 5) == (["name=2", "name=3", "name=1"], (said.format(3),))
    order, notes = _recorded(9, None, 5, None)
    assert order == ["name=3", "name=1", "name=2", "name=4"]
    lowest = "2 jobs without a recorded start, and with --priorities recorded the lowest priorities"
    assert notes == (said.format(4), lowest)
    with pytest.raises(InputError, match=r"--priorities recorded: the log says neither .* allowed: slurm"):
        _recorded(None, None)


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
        InputError, match="--set: slurmctld says: Invalid SchedulerParameters bf_interval: 0; allowed: "
    ):
        check_taken(log, of_machine({}, Platform()))
    site = tmp_path / "slurm.conf"
    site.write_text("NodeName=n[0-3] CPUs=1\nPartitionName=all Nodes=ALL Default=YES\n")
    words = tuple(f"slurmctld goes on with a default, as it says: {one}" for one in said)
    assert check_taken(log, of_site(str(site), {})) == words


def test_partitions_with_limits_that_only_slurmdbd_keeps() -> None:
    platform = Platform((HostGroup(2, 1, 46.875),), partitions=(Partition("a", default=True, max_running_jobs=3),))
    with pytest.raises(InputError, match=r"partitions\[0\].max_running_jobs: is a QOS of Slurm, which needs slurmdbd"):
        of_machine({}, platform)


# ---- nodes ----


def test_states_of_nodes_one_change_after_the_other(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text("host,down_s,up_s\n1,10,20\n1,30,\n0,5,50\n")
    platform = Platform((HostGroup(3, 2, 93.75),))
    states = NodeStates(read_outages(path, platform))
    assert states.first() == [(5 * S, 0), (10 * S, 1)]
    assert states.change(0) == 50 * S
    assert states.change(1) == 20 * S
    assert states.any_down
    assert states.change(1) == 30 * S
    assert states.change(1) is None  # for ever
    assert (states.down(0), states.down(1), states.down(2)) == (True, True, False)
    assert states.change(0) is None
    assert not states.any_down
    down = states.downtime(platform, JobConstraints(), 40 * S)
    assert down.host.tolist() == [0, 1, 1]
    assert (down.up_ns // S).tolist() == [40, 20, 40]
    assert down.cores.tolist() == [2, 2, 2]


def test_states_of_nodes_of_a_model_are_those_of_its_outages() -> None:
    model = OutageModel(100 * S, 10 * S, 3)
    states = NodeStates(modelled_outages(model, 2, 1))
    instants = [states.first()[1][0]]
    for _ in range(19):
        following = states.change(1)
        assert following is not None
        instants.append(following)
    down, up = model.draw(1, 10)
    assert instants == np.stack([down, up], axis=1).ravel().tolist()
    assert down[-1] < NEVER
