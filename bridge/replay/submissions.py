"""What each job asks Slurm for: everything that its log, a request file or the machine's partitions say of it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bls.constraints.resource_requests import Requests
from bls.machine.platform import MEMORY
from bls.workloads import format_of
from bls.workloads.columns import distinct
from bls.workloads.header import FACT
from bls.workloads.readers.sacct_dump import sacct_words
from bls.workloads.workload import Workload
from bridge.options.declared import PRIORITIES
from bridge.replay.configuration import Configuration, partition_names, slurm_partition
from bridge.replay.host_names import expanded
from bridge.replay.keys import BY_CORES
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError
from traces.base.given_file import without_ending
from traces.base.time import NS_PER_S
from traces.compiled import Array


@dataclass(frozen=True)
class LogWords:
    """The words of a log, by row of its workload; empty, or -1, where it does not say."""

    # queues, partitions: what the header says that a number of a queue or a partition stands for
    queues: dict[int, tuple[str, ...]]
    partitions: dict[int, tuple[str, ...]]
    account: tuple[str, ...]
    features: tuple[str, ...]
    reservation: tuple[str, ...]
    nodes: tuple[str, ...]
    priority: tuple[int, ...]
    least_nodes: tuple[int, ...]
    missing: tuple[str, ...] = ()  # what is not known as its file is not there any more, in words


def _numbered(header: Iterable[str], title: str) -> dict[int, tuple[str, ...]]:
    # Lines as "; Partition: 2 batch", or with more words, of which one may be the name.
    found: dict[int, tuple[str, ...]] = {}
    for line in header:
        fact = FACT.fullmatch(line)
        if fact and fact[1] == title:
            number, *words = fact[2].split() or [""]
            if re.fullmatch(r"[0-9]{1,18}:*", number):
                found[int(number.rstrip(":"))] = tuple(word.strip('",;:()') for word in words)
    return found


def _whole(word: str) -> int:
    return int(word) if re.fullmatch(r"[0-9]{1,18}", word) else -1


#: What sacct writes where there are no nodes.
_NO_NODES = ("", "None assigned", "(null)")


def log_words(workload: Workload) -> LogWords:
    """The words of a log; those of a dump of sacct are read again from its file. Raises InputError if that file cannot
    be read any more."""
    jobs: list[int] = workload.job_id.tolist()
    given: dict[int, dict[str, str]] = {}
    missing: tuple[str, ...] = ()
    if not Path(workload.source).is_file():
        if without_ending(workload.source).endswith(".sacct"):
            missing = (f"{workload.source}: is not there any more: what it says beside the usual columns is not known",)
    elif format_of(workload.source) == "sacct":
        given = sacct_words(workload.source, dict(zip(workload.line.tolist(), jobs, strict=True)))

    def words(use: str) -> tuple[str, ...]:
        return tuple(given[job][use] if job in given else "" for job in jobs)

    return LogWords(
        _numbered(workload.header, "Queue"),
        _numbered(workload.header, "Partition"),
        words("account"),
        words("features"),
        words("reservation"),
        tuple("" if word in _NO_NODES else word for word in words("node_list")),
        tuple(map(_whole, words("priority"))),
        tuple(map(_whole, words("least_nodes"))),
        missing,
    )


#: The users of a log are these of Slurm and those that follow; none needs to be one of this computer.
FIRST_USER = 1_000_000

_MB_KB = 1024

#: Slurm's number for a wait of any length, in seconds.
_FOR_EVER_S = 365 * 86_400

#: The highest priority that is given to a job; 0 would hold it, and what is beyond 31 bits is not for all of Slurm.
_MOST_PRIORITY = 2**31 - 1


@dataclass(frozen=True)
class Submissions:
    """What jobs ask for, by row of the workload."""

    # ``key=value`` as ``native/requests.c`` knows them, but for the limit of time, and for what is only known when the
    # job is submitted
    fields: tuple[tuple[str, ...], ...]
    window: Array  # int64 (n,), the place of the window that each job runs in, -1 for none
    nodes: tuple[str, ...]  # the nodes that jobs have had, where all of them are of the machine
    notes: tuple[str, ...]  # what of the log could not be asked for, in words


def configured(found: Configuration, scenario: ReadyScenario) -> Configuration:
    """A slurm.conf, with what the jobs of a scenario need so that Slurm looks at what they ask for."""
    asked = scenario.constraints.requests
    if asked is None:
        return found
    more: dict[str, str] = {}
    if asked.per_unit.any() and not found.site:
        memory = MEMORY in asked.resource_names and asked.per_unit[:, asked.resource_names.index(MEMORY)].any()
        more |= BY_CORES | ({"SelectTypeParameters": "CR_Core_Memory"} if memory else {})
    if asked.switches.any() and "max_switch_wait" not in found.key("SchedulerParameters"):
        given = found.key("SchedulerParameters")
        more["SchedulerParameters"] = f"{given},max_switch_wait={_switch_wait_s(scenario)}".lstrip(",")
    chosen = {key: value for key, value in more.items() if key == "SchedulerParameters" or _is_ours(found, key)}
    return found.with_keys(chosen)


def _switch_wait_s(scenario: ReadyScenario) -> int:
    wait_ns = scenario.options.batch.waits_for_switches_ns
    return _FOR_EVER_S if wait_ns is None else -(-wait_ns // NS_PER_S)


def _is_ours(found: Configuration, key: str) -> bool:
    # Not said by --set: nodes that Slurm chooses are chosen as of_machine() has said, or not at all.
    return found.key(key) in ("", BY_CORES.get(key, ""))


def submissions(
    scenario: ReadyScenario, found: Configuration, words: LogWords, *, recorded_priorities: bool
) -> Submissions:
    """What the jobs of a scenario ask for.

    - ``found``: what Slurm is configured with.
    - ``words``: of the same jobs.
    - ``recorded_priorities``: whether jobs have the priorities of the log, or those by which they would have started in
      its order.

    Raises InputError if they are to have the log's, and it has neither priorities nor starts.
    """
    workload = scenario.workload
    notes: Counter[str] = Counter()
    users, user = distinct(workload.user)
    own = os.geteuid()
    ids = [own if number < 0 else FIRST_USER + at for at, number in enumerate(users.tolist())]
    partitions = _partitions(scenario, found, words, notes)
    priorities, ranked = _priorities(workload, words, found, notes) if recorded_priorities else (None, ())
    features = {feature for node in found.nodes for feature in node.features}
    nodes = {node.name for node in found.nodes}
    window = _windows(scenario, words, notes)
    asked, wait_s = scenario.constraints.requests, _switch_wait_s(scenario)
    fields = []
    for row, job in enumerate(workload.job_id.tolist()):
        one = [f"name={job}", f"user={ids[user[row]]}", *_shape(asked, workload, row)]
        if partitions[row]:
            one.append(f"partition={partitions[row]}")
        if words.account[row]:
            one.append(f"account={words.account[row]}")
        if asked is not None and asked.switches[row]:
            one += [f"switches={asked.switches[row]}", f"switches_s={wait_s}"]
        if 1 < words.least_nodes[row] <= min(int(workload.cores[row]), len(nodes)):
            one.append(f"nodes={words.least_nodes[row]}")
        if words.features[row]:
            if _named(words.features[row]) <= features:
                one.append(f"features={words.features[row]}")
            else:
                notes["ask for features that no node has, which is left out"] += 1
        if priorities is not None and priorities[row] > 0:
            one.append(f"priority={priorities[row]}")
        fields.append(tuple(one))
    told = tuple(f"{count} job{'s' * (count > 1)} {what}" for what, count in notes.items())
    return Submissions(tuple(fields), window, _nodes(words, nodes), (*words.missing, *ranked, *told))


def _shape(asked: Requests | None, workload: Workload, row: int) -> list[str]:
    cores = int(workload.cores[row])
    if asked is None:
        return [f"tasks={cores}", f"cpus={cores}"]
    unit = int(asked.unit_cores[row])
    one = [f"tasks={cores // unit}", f"cpus={cores}", f"cpus_per_task={unit}"]
    generic = []
    asks_memory = MEMORY in asked.resource_names and asked.per_unit[:, asked.resource_names.index(MEMORY)].any()
    for name, amount in zip(asked.resource_names, asked.per_unit[row].tolist(), strict=True):
        if name == MEMORY and asks_memory:
            # Who asks for none must not be taken to want all that a node has.
            one.append(f"memory_mb={max(1, -(-amount // (_MB_KB * unit)))}")
        elif amount:
            generic.append(f"gres:{name}:{amount}")
    if generic:
        one.append(f"gres={','.join(generic)}")
    licences = [f"{name}:{n}" for name, n in zip(asked.licence_names, asked.licences[row].tolist(), strict=True) if n]
    if licences:
        one.append(f"licences={','.join(licences)}")
    return one


def _partitions(scenario: ReadyScenario, found: Configuration, words: LogWords, notes: Counter[str]) -> list[str]:
    own, place, workload = scenario.platform.partitions, scenario.constraints.partition, scenario.workload
    if own and place is not None:
        return [slurm_partition(own, at) for at in place.tolist()]
    if not found.site:
        return [""] * len(workload)
    known = partition_names(found)
    chosen = []
    for queue, partition in zip(workload.queue.tolist(), workload.partition.tolist(), strict=True):
        said = [*words.partitions.get(partition, ()), *words.queues.get(queue, ()), str(partition), str(queue)]
        name = next((word for word in said if word in known), "")
        if not name and (partition in words.partitions or queue in words.queues):
            called = " ".join(said[:1])
            notes[f"of partition {called}, which slurm.conf does not have, go to the default one"] += 1
        chosen.append(name)
    return chosen


def _windows(scenario: ReadyScenario, words: LogWords, notes: Counter[str]) -> Array:
    # Of the reservation that lists a job; else of the one that is called as that in which it has run.
    windows = scenario.constraints.windows
    window = np.full(len(scenario.workload), -1) if windows is None else windows.of_jobs(scenario.workload)
    called: dict[str, int] = {}
    if windows is not None:
        called = {one.name: w for w, one in enumerate(windows.windows) if windows.is_reservation[w]}
    for row, name in enumerate(words.reservation):
        if name and window[row] < 0:
            window[row] = called.get(name, -1)
            if name not in called:
                notes[f"ran in reservation {name}, which no window is called; they are in none"] += 1
    return window


def _priorities(
    workload: Workload, words: LogWords, found: Configuration, notes: Counter[str]
) -> tuple[list[int], tuple[str, ...]]:
    # The log's, where it has any; else by the order of the recorded starts: who has started first, first. And which of them it
    # is. 0: Slurm's own.
    n = len(workload)
    has = np.array([0 < priority <= _MOST_PRIORITY for priority in words.priority])
    if has.all():
        return list(words.priority), ("priorities are those of the log",)
    if has.any():
        lack = int((~has).sum())
        said = f"priorities are those of the log, but for {lack} of {n} jobs, which have none there: "
        if found.key("PriorityType").lower() == "priority/multifactor":
            own = np.where(has, words.priority, 0)
            return [int(value) for value in own], (f"{said}these have Slurm's own",)
        # Those that priority/basic counts down from are above any: as whoever was submitted before, or else after.
        at = np.flatnonzero(has)
        near = at[np.maximum(np.searchsorted(at, np.arange(n), side="right") - 1, 0)]
        as_near = np.asarray(words.priority, np.int64)[near]
        return [int(value) for value in as_near], (f"{said}these have that of the job submitted before",)
    said = f"priorities are by the order of the recorded starts: {n} of {n} jobs have none in the log"
    known = workload.wait_ns >= 0
    if not known.any():
        raise InputError(
            f"{PRIORITIES:recorded}: the log says neither jobs' priorities nor when they have started; allowed: slurm"
        )
    if not known.all():
        notes["without a recorded start, and with --priorities recorded the lowest priorities"] = int((~known).sum())
    start_ns = np.where(known, workload.submit_ns + np.maximum(workload.wait_ns, 0), np.iinfo(np.int64).max)
    order = np.lexsort((workload.submit_ns, start_ns))
    priority = np.empty(len(workload), np.int64)
    priority[order] = _MOST_PRIORITY - np.arange(len(workload))
    return [int(value) for value in priority], (said,)


def _named(features: str) -> set[str]:
    # Of words as "a&b", "[x|y]", "a*2".
    return {word.partition("*")[0] for word in features.strip("[]()").replace("&", "|").replace(",", "|").split("|")}


def _nodes(words: LogWords, known: set[str]) -> tuple[str, ...]:
    def of_machine(text: str) -> bool:
        try:
            return bool(text) and set(expanded(text, len(known))) <= known
        except ValueError:
            return False

    return tuple(text if of_machine(text) else "" for text in words.nodes)
