"""Requests to Slurm: each job's request from its log, a request file or the partitions, and the meaning of refusals."""

import os
import pwd
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bls.constraints.advance_reservations import Windows
from bls.constraints.resource_requests import Requests
from bls.engine.features.other_events.options import WINDOWS
from bls.machine.platform import MEMORY, Platform
from bls.workloads import format_of
from bls.workloads.columns import distinct
from bls.workloads.header import FACT
from bls.workloads.readers.sacct_dump import sacct_words
from bls.workloads.workload import Workload
from bridge.options.declared import PRIORITIES
from bridge.replay.book import ReplayedRows
from bridge.replay.configuration import MB_KB, MINUTE_NS, Configuration, over, partition_names, slurm_partition
from bridge.replay.controller import Controller, SlurmRefused
from bridge.replay.gpus import GpuFields, gpu_fields, with_shares
from bridge.replay.host_names import compressed, expanded
from bridge.replay.keys import BY_CORES
from bridge.replay.messages import SlurmLaunch
from bridge.scenarios.ready import ReadyScenario
from traces.base.errors import InputError, PeerError
from traces.base.given_file import without_ending
from traces.base.time import NS_PER_S
from traces.compiled import Array


@dataclass(frozen=True)
class LogWords:
    """Texts of a log, by row of its workload; empty, or -1, if missing."""

    # queues, partitions: the header's names for the numbers of queues and partitions
    queues: dict[int, tuple[str, ...]]
    partitions: dict[int, tuple[str, ...]]
    account: tuple[str, ...]
    features: tuple[str, ...]
    reservation: tuple[str, ...]
    nodes: tuple[str, ...]
    priority: tuple[int, ...]
    least_nodes: tuple[int, ...]
    missing: tuple[str, ...] = ()  # remarks on data that are missing, as their file no longer exists


def _numbered(header: Iterable[str], title: str) -> dict[int, tuple[str, ...]]:
    # Lines such as "; Partition: 2 batch", or with more words, one of which may be the name.
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


_NO_NODES = ("", "None assigned", "(null)")  # sacct's texts for jobs without nodes


def log_words(workload: Workload) -> LogWords:
    """The texts of a log; a dump of sacct is read again for them. Raises InputError if it cannot be read any more."""
    jobs: list[int] = workload.job_id.tolist()
    given: dict[int, dict[str, str]] = {}
    missing: tuple[str, ...] = ()
    if not Path(workload.source).is_file():
        if without_ending(workload.source).endswith(".sacct"):
            missing = (f"{workload.source}: no longer exists: its columns besides the usual ones are unknown",)
    elif format_of(workload.source) == "sacct":
        given = sacct_words(workload.source, dict(zip(workload.line.tolist(), jobs, strict=True)))

    def words(use: str) -> tuple[str, ...]:
        return tuple(given[job][use] if job in given else "" for job in jobs)

    queues, partitions = (_numbered(workload.header, title) for title in ("Queue", "Partition"))
    account, features, reservation = map(words, ("account", "features", "reservation"))
    nodes = tuple("" if word in _NO_NODES else word for word in words("node_list"))
    priority, least_nodes = (tuple(map(_whole, words(use))) for use in ("priority", "least_nodes"))
    return LogWords(queues, partitions, account, features, reservation, nodes, priority, least_nodes, missing)


FIRST_USER = 1_000_000  # user numbers in Slurm begin here; they need not exist on this computer

_FOR_EVER_S = 365 * 86_400  # Slurm's number for a wait of any length, in seconds

#: Highest priority given to a job; 0 would hold it, and parts of Slurm do not support more than 31 bits.
_MOST_PRIORITY = 2**31 - 1


@dataclass(frozen=True)
class Submissions:
    """Requests of jobs, by row of the workload."""

    # ``key=value`` for ``native/requests.c``, except for the time limit, and for fields known only when the job is submitted
    fields: tuple[tuple[str, ...], ...]
    window: Array  # int64 (n,), the index of each job's window, -1 for none
    nodes: tuple[str, ...]  # the recorded nodes of jobs, if all of them belong to the machine
    notes: tuple[str, ...]  # remarks on data of the log that could not be used


def configured(found: Configuration, scenario: ReadyScenario) -> Configuration:
    """A slurm.conf with the settings that the requests of a scenario's jobs need."""
    asked = scenario.constraints.requests
    if asked is None:
        return found
    more: dict[str, str] = {}
    if asked.per_unit.any() and not found.site:
        memory = MEMORY in asked.resource_names and asked.per_unit[:, asked.resource_names.index(MEMORY)].any()
        by_cores = BY_CORES | ({"SelectTypeParameters": "CR_Core_Memory"} if memory else {})
        # Without --set, nodes are chosen as of_machine() sets it, or not at all.
        more |= {key: value for key, value in by_cores.items() if found.key(key) in ("", BY_CORES[key])}
    if asked.switches.any() and "max_switch_wait" not in found.key("SchedulerParameters"):
        given = found.key("SchedulerParameters")
        more["SchedulerParameters"] = f"{given},max_switch_wait={_switch_wait_s(scenario)}".lstrip(",")
    return with_shares(replace(found, keys=over(found.keys, more)), scenario)


def _switch_wait_s(scenario: ReadyScenario) -> int:
    wait_ns = scenario.options.batch.waits_for_switches_ns
    return _FOR_EVER_S if wait_ns is None else -(-wait_ns // NS_PER_S)


def submissions(
    scenario: ReadyScenario, found: Configuration, words: LogWords, *, recorded_priorities: bool
) -> Submissions:
    """The requests of a scenario's jobs to Slurm. With ``recorded_priorities`` they have the priorities of the log, or else the
    order of the recorded starts. Raises InputError if the log has neither."""
    workload = scenario.workload
    notes: Counter[str] = Counter()
    users, user = distinct(workload.user)
    ids = [os.geteuid() if number < 0 else FIRST_USER + at for at, number in enumerate(users.tolist())]
    partitions = _partitions(scenario, found, words, notes)
    priorities, ranked = _priorities(workload, words, found, notes) if recorded_priorities else (None, ())
    features = {feature for node in found.nodes for feature in node.features}
    nodes = {node.name for node in found.nodes}
    window = _windows(scenario, words, notes)
    asked, wait_s = scenario.constraints.requests, _switch_wait_s(scenario)
    gpus = gpu_fields(scenario, found, notes)
    fields = []
    for row, job in enumerate(workload.job_id.tolist()):
        one = [f"name={job}", f"user={ids[user[row]]}", *_shape(asked, workload, row, gpus[row])]
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
                notes["request features that no node has, which are omitted"] += 1
        if priorities is not None and priorities[row] > 0:
            one.append(f"priority={priorities[row]}")
        fields.append(tuple(one))
    counted = tuple(f"{count} job{'s' * (count > 1)} {what}" for what, count in notes.items())
    return Submissions(tuple(fields), window, _nodes(words, nodes), (*words.missing, *ranked, *counted))


def _shape(asked: Requests | None, workload: Workload, row: int, gpus: GpuFields) -> list[str]:
    cores = int(workload.cores[row])
    if asked is None:
        return [f"tasks={cores}", f"cpus={cores}"]
    joined = 1 if asked.gpus is None or asked.gpus.joined is None else max(1, int(asked.gpus.joined[row]))
    unit = int(asked.unit_cores[row]) // joined
    one = [f"tasks={cores // unit}", f"cpus={cores}", f"cpus_per_task={unit}"]
    one += [f"{key}={value}" for key, value in gpus.items() if key != "gres"]
    generic = [gpus["gres"]] if "gres" in gpus else []
    asks_memory = MEMORY in asked.resource_names and asked.per_unit[:, asked.resource_names.index(MEMORY)].any()
    for name, amount in zip(asked.resource_names, (asked.per_unit[row] // joined).tolist(), strict=True):
        if name == MEMORY and asks_memory:
            # Without a memory request Slurm would assume all memory of a node.
            one.append(f"memory_mb={max(1, -(-amount // (MB_KB * unit)))}")
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
    # The reservation that lists the job; else the one with the name of the reservation in which it ran.
    windows = scenario.constraints.windows
    window = np.full(len(scenario.workload), -1) if windows is None else windows.of_jobs(scenario.workload)
    called: dict[str, int] = {}
    if windows is not None:
        called = {one.name: w for w, one in enumerate(windows.windows) if windows.is_reservation[w]}
    for row, name in enumerate(words.reservation):
        if name and window[row] < 0:
            window[row] = called.get(name, -1)
            if name not in called:
                notes[f"ran in reservation {name}, which matches no window; they are in none"] += 1
    return window


def _priorities(
    workload: Workload, words: LogWords, found: Configuration, notes: Counter[str]
) -> tuple[list[int], tuple[str, ...]]:
    # The log's, if it has any; else by the recorded starts, the first highest; 0: Slurm's own. Then a remark on the choice.
    n = len(workload)
    has = np.array([0 < priority <= _MOST_PRIORITY for priority in words.priority])
    if has.all():
        return list(words.priority), ("priorities are those of the log",)
    if has.any():
        lack = int((~has).sum())
        said = f"priorities are those of the log, except for {lack} of {n} jobs, which have none there: "
        if found.key("PriorityType").lower() == "priority/multifactor":
            own = np.where(has, words.priority, 0)
            return [int(value) for value in own], (f"{said}these have Slurm's own",)
        # Priorities that priority/basic counts down from are above these: use the previous job's, or else the next one's.
        at = np.flatnonzero(has)
        near = at[np.maximum(np.searchsorted(at, np.arange(n), side="right") - 1, 0)]
        as_near = np.asarray(words.priority, np.int64)[near]
        return [int(value) for value in as_near], (f"{said}these have that of the job submitted before",)
    said = f"priorities are in the order of the recorded starts: {n} of {n} jobs have none in the log"
    known = workload.wait_ns >= 0
    if not known.any():
        raise InputError(f"{PRIORITIES:recorded}: the log has neither priorities nor starts of jobs; allowed: slurm")
    if not known.all():
        notes["without a recorded start, and with --priorities recorded the lowest priorities"] = int((~known).sum())
    start_ns = np.where(known, workload.submit_ns + np.maximum(workload.wait_ns, 0), np.iinfo(np.int64).max)
    priority = _MOST_PRIORITY - np.argsort(np.lexsort((workload.submit_ns, start_ns)))
    return [int(value) for value in priority], (said,)


def _named(features: str) -> set[str]:
    # Names in texts such as "a&b", "[x|y]", "a*2".
    return {word.partition("*")[0] for word in features.strip("[]()").replace("&", "|").replace(",", "|").split("|")}


def _nodes(words: LogWords, known: set[str]) -> tuple[str, ...]:
    def of_machine(text: str) -> bool:
        try:
            return bool(text) and set(expanded(text, len(known))) <= known
        except ValueError:
            return False

    return tuple(text if of_machine(text) else "" for text in words.nodes)


def reservation_lines(windows: Windows, platform: Platform, nodes: Sequence[str], origin_ns: int) -> list[list[str]]:
    """The fields of the requests that create the windows (``native/requests.c``). Jobs of all users may name a
    reservation: the windows determine which jobs use it. Raises InputError if one has parts of several hosts."""
    # For all users except one that submits no jobs.
    excluded = next(user.pw_name for user in pwd.getpwall() if user.pw_uid != os.geteuid())
    lines = []
    for w, window in enumerate(windows.windows):
        cores = np.zeros(platform.n_cores, bool)
        for k in range(windows.core_first[w], windows.core_first[w + 1]):
            cores[windows.core_lo[k] : windows.core_hi[k]] = True
        counts = np.add.reduceat(cores.astype(np.int64), platform.first_core[:-1])
        hosts = np.flatnonzero(counts)
        whole = bool((counts[hosts] == np.diff(platform.first_core)[hosts]).all())
        if not whole and len(hosts) > 1:
            allowed = "for Slurm, allowed: whole hosts, or cores of one"
            raise InputError(f"{WINDOWS}: {window}: has parts of {len(hosts)} hosts; {allowed}")
        begin_s = (int(windows.begin_ns[w]) + origin_ns) // NS_PER_S
        end_s = -(-(int(windows.end_ns[w]) + origin_ns) // NS_PER_S)
        names = compressed([nodes[host] for host in hosts.tolist()])
        part = "-" if whole else str(int(counts[hosts[0]]))
        maintenance = "0" if windows.is_reservation[w] else "1"
        span = [str(begin_s), str(end_s)]
        lines.append(["reserve", f"window{w}", *span, names, part, f"-{excluded}", maintenance])
    return lines


class Asking:
    """Requests of a replay (``native/requests.c``)."""

    def __init__(self, scenario: ReadyScenario, controller: Controller, book: ReplayedRows, asked: Submissions) -> None:
        self._workload, self._constraints, self._platform = scenario.workload, scenario.constraints, scenario.platform
        self._requeue = int(scenario.options.batch.on_failure == "requeue")
        self._controller, self._book, self._asked = controller, book, asked

    def _fields(self, row: int, longer_ns: int = 0) -> list[str]:
        minutes = max(1, -(-(int(self._workload.estimate_ns[row]) + longer_ns) // MINUTE_NS))
        fields = [*self._asked.fields[row], f"minutes={minutes}", f"requeue={self._requeue}"]
        if (window := int(self._asked.window[row])) >= 0:
            fields.append(f"reservation=window{window}")
        return fields

    def submit(self, row: int, more: Sequence[str]) -> int:
        """Submit a job with further fields; return its number in Slurm. Raises InputError if Slurm does not accept it."""
        fields = [*self._fields(row), *more]
        try:
            return self._controller.request("submit", *fields)
        except SlurmRefused as why:
            minutes = next(word[8:] for word in fields if word.startswith("minutes="))
            what = f"job {self._book.job(row)}, {self._workload.cores[row]} cores for {minutes} min"
            raise InputError(f"Slurm does not accept {what}: {why}") from None

    def allocate(self, row: int, longer_ns: int) -> SlurmLaunch:
        """Start a job at once: on its recorded nodes, if they are known and free. Raises InputError without cores for it."""
        fields, nodes = self._fields(row, longer_ns), self._asked.nodes[row]
        for choice in [[f"on={nodes}"], []] if nodes else [[]]:
            try:
                number, names, groups = self._controller.words("allocate", *fields, *choice)
            except SlurmRefused as refused:
                why = str(refused)
                continue
            counts = [group.split("x") for group in groups.split(",")]
            return SlurmLaunch(int(number), names, tuple(int(n) for n, times in counts for _ in range(int(times))))
        what = f"job {self._book.job(row)}, which was already running, on {self._workload.cores[row]} cores"
        raise InputError(f"Slurm does not start {what}: {why}")

    def of_job(self, what: str, row: int, *more: object) -> list[str]:
        """Request an action on a job; return the answer. Raises PeerError if Slurm does not do it."""
        try:
            return self._controller.words(what, self._book.number[row], *more)
        except SlurmRefused as why:
            raise PeerError(f"Slurm does not {what} job {self._book.job(row)}: {why}") from None

    def why_not(self, row: int) -> str:
        """Slurm's reason why a job does not start."""
        if row not in self._book.number:
            return "it was not submitted, like the job that it waits for"
        try:
            self._controller.request("why", self._book.number[row])
        except SlurmRefused as why:
            return str(why)
        return "no reason"

    def set_node(self, name: str, state: str) -> None:
        """Set a node ``down``, or ``drain`` or ``resume`` it. Raises PeerError if Slurm does not accept it."""
        try:
            self._controller.request("node", name, state, "by the trace")
        except SlurmRefused as why:
            raise PeerError(f"Slurm does not change the state of node {name}: {why}") from None

    def make_windows(self, nodes: Sequence[str], origin_ns: int) -> None:
        """Create the reservations and maintenance of the scenario. Raises InputError if Slurm does not accept one."""
        if self._constraints.windows is None:
            return
        for line in reservation_lines(self._constraints.windows, self._platform, nodes, origin_ns):
            try:
                self._controller.request(*line)
            except SlurmRefused as why:
                raise InputError(f"{WINDOWS}: Slurm does not create the reservation of {line[4]}: {why}") from None
