"""Reads the output of Slurm's ``sacct`` with ``--parsable2`` (``-P``), ``--parsable`` or ``--json``, plain or compressed.

docs/reference/inputs.md describes the use of its columns, the reading of lines with free text, and the numbering of jobs. Lines
that begin with ``#`` are comments, and the first line may be repeated, as in concatenated dumps.

Besides the reasons of all readers, a line is rejected as a *job step* (``N.batch``, ``N.0``), which is tested first; as *free
text in A or B* if it can be read in several ways; and as *not ended* if the job waits, runs or is suspended. *No run time* is
also the reason for waiting tasks (``N_[3-8]``). With ``cancelled=True``, a job that was cancelled or failed before it ran, and
whose end and time limit are known, becomes a job that is cancelled at its end.

Source: the manual of Slurm's sacct, https://slurm.schedmd.com/sacct.html.
"""

import os
from collections.abc import Mapping
from dataclasses import replace

from bls.machine.platform import GPU_COLUMNS
from bls.workloads.readers import sacct_columns as sc
from bls.workloads.readers.lines import JobRows, number, seconds_ns, whole
from bls.workloads.readers.sacct_dump import Dump
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.base.given_file import GivenFile
from traces.base.time import MAX_NS, NS_PER_S

JOB_STEP = "job step"
NOT_ENDED = "not ended"
_STATUS = {"COMPLETED": 1, "CANCELLED": 5, "REVOKED": 5}
_FAILED = ("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED", "REQUEUED")
_STATUS.update(dict.fromkeys(_FAILED, 0))
_GOES_ON = frozenset(("PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUE_HOLD", "RESIZING"))
_NAMED = ("user", "group", "partition", "qos", "application", "account")
_KIND = GPU_COLUMNS[-1]  # a further column, if a job requests GPUs of some kind
_MOST_NAMES = 1000  # of partitions or QOS as header lines


def read_sacct(path: str | os.PathLike[str], *, cancelled: bool = False) -> Workload:
    """Read a dump of ``sacct``; ``path`` and ``cancelled`` as in :func:`bls.workloads.readers.swf.read_swf`. Raises InputError,
    in one line that names the file, if it cannot be read, does not name the required columns, or holds no valid job."""
    source = os.fspath(path)
    with GivenFile(path, "workload file") as file:
        dump = Dump(file, source)
        reader = _Reader(source, dump, cancelled)
        for line, words in dump:
            reader.read(line, words)
    return reader.workload(dump.comments)


class _Reader:
    """Reads jobs one by one; ``sacct``'s words are addressed by their use."""

    def __init__(self, source: str, dump: Dump, cancelled: bool) -> None:
        self._cancelled = cancelled
        self._rows = JobRows(source, (*dump.further, _KIND), (*_NAMED, _KIND))
        self._columns = dump.names
        self._earliest = MAX_NS
        self._ambiguous = f"free text in {' or '.join(dump.free)}"

    def read(self, line: int, words: list[dict[str, str]]) -> None:
        reason = self._read(line, words)
        self._rows.count(reason, line, *(_decides(reason, words, self._columns) if reason else ()))

    def _read(self, line: int, words: list[dict[str, str]]) -> str:
        if words and all(sc.is_step(word["job_id"]) for word in words):
            return JOB_STEP
        if len(words) > 1:
            words = [word for word in words if _is_sound(word)]
            without = [word | {"application": ""} for word in words]
            if any(word != without[0] for word in without):
                return self._ambiguous
            words = without if len(words) > 1 else words
        if not words:
            return MALFORMED
        word = words[0]
        job_id = -1 if sc.is_waiting_tasks(word["job_id"]) else sc.job_number(word["job_id"])
        submit = sc.time_ns(word["submit"])
        if job_id is None or submit is None:
            return MALFORMED
        start, end = sc.time_ns(word["start"]), sc.time_ns(word["end"])
        limit = sc.limit_ns(word["limit_raw"], word["limit"])
        run = _run_ns(word, start, end)
        cores = _held(word, "cpu", ("alloc_cores", "n_cores"), ("req_cores",))
        if limit is None or run is None or cores is None:
            return MALFORMED
        self._earliest = min(self._earliest, submit)
        state = _state(word)
        if state in _GOES_ON:
            return NOT_ENDED
        status = _STATUS.get(state, -1)
        cancel = -1
        if run <= 0 or job_id < 0:
            if end is None or end < submit or not self._cancelled or status not in (0, 5) or limit <= 0 or job_id < 0:
                return NO_RUN_TIME
            run, cancel = 1, end
        if cores <= 0:
            return NO_PROCESSORS
        nodes, eligible = _held(word, "node", ("nodes",), ()) or 0, sc.time_ns(word["eligible"])
        # An instant after the start belongs to another attempt.
        held = eligible is not None and submit < eligible and (start is None or eligible <= start)
        kinds = sc.gpu_kinds(word["req_tres"], word["req_gres"])
        names = self._rows.names.items()
        numbers = {name: known.number(kinds if name == _KIND else word[name]) for name, known in names}
        self._rows.add(
            *(job_id, submit, run, cores, limit if limit > 0 else run, line),
            **numbers,
            wait_ns=start - submit if start is not None and start >= submit else -1,
            memory_kb=_memory_kb(word, cores, nodes),
            status=status,
            cancel_ns=cancel,
            begin_ns=eligible if held and eligible is not None else -1,
            nodes=nodes if nodes or word["nodes"] == "0" else -1,
            gpus=_gpus(word, nodes),
        )
        return ""

    def workload(self, header: list[str]) -> Workload:
        # Whole seconds, as in the header's line.
        start_s = self._earliest // NS_PER_S if len(self._rows) else 0
        named = [
            f"; {title}: {value} {name}"
            for title, key in (("Partition", "partition"), ("QOS", "qos"))
            for name, value in list(self._rows.names[key].known.items())[:_MOST_NAMES]
        ]
        self._rows.header += [f"; {comment.lstrip('# ')}" for comment in header]
        self._rows.header += [f"; UnixStartTime: {start_s}", *named]
        found = self._rows.workload(start_s * NS_PER_S)
        if self._rows.names[_KIND].known:
            return found
        extras = {name: column for name, column in found.extras.items() if name != _KIND}
        return replace(found, extras=extras, labels={name: of for name, of in found.labels.items() if name != _KIND})


def _decides(reason: str, words: list[dict[str, str]], columns: Mapping[str, str]) -> tuple[str, str]:
    """The dump's column that decides why a line is rejected, and its word; nothing for other lines."""
    if len(words) != 1 or reason not in (MALFORMED, NOT_ENDED, NO_RUN_TIME, NO_PROCESSORS):
        return "", ""
    word = words[0]

    def given(*uses: str) -> str:
        """The first of some uses for which the line has a word, or else the dump a column."""
        return next((use for use in uses if word[use]), next((use for use in uses if use in columns), uses[0]))

    run, limit = given("elapsed_raw", "elapsed", "end"), given("limit_raw", "limit")
    cores = given("alloc_cores", "n_cores", "req_cores", "alloc_tres", "req_tres")
    no_run = "job_id" if sc.is_waiting_tasks(word["job_id"]) else run
    others = {NOT_ENDED: "state", NO_RUN_TIME: no_run, NO_PROCESSORS: cores}
    wrong = zip(("job_id", "submit", limit, run), _wrong(word), strict=True)
    use = others.get(reason) or next((use for use, is_wrong in wrong if is_wrong), cores)
    return columns[use], word[use]


def _wrong(word: dict[str, str]) -> tuple[bool, bool, bool, bool]:
    """Whether the words for the job number, the submit, the limit and the run time cannot be read."""
    return (
        sc.job_number(word["job_id"]) is None and not sc.is_waiting_tasks(word["job_id"]),
        sc.time_ns(word["submit"]) is None,
        sc.limit_ns(word["limit_raw"], word["limit"]) is None,
        _run_ns(word, sc.time_ns(word["start"]), sc.time_ns(word["end"])) is None,
    )


def _is_sound(word: dict[str, str]) -> bool:
    """Whether all numbers, instants and durations of a job can be read, so that its words are in the right columns."""
    plain = ("alloc_cores", "n_cores", "req_cores", "nodes", "elapsed_raw")
    return (
        not any(_wrong(word))
        and all(not word[name] or number(word[name]) is not None for name in plain)
        and (not word["state"] or _state(word) in _STATUS or _state(word) in _GOES_ON)
    )


def _state(word: dict[str, str]) -> str:
    return word["state"].split(maxsplit=1)[0].upper() if word["state"] else ""


def _run_ns(word: dict[str, str], start: int | None, end: int | None) -> int | None:
    """The time that the job ran, 0 if it did not, None if a word is no time."""
    if word["elapsed_raw"]:
        return seconds_ns(word["elapsed_raw"])
    if word["elapsed"]:
        return sc.timespan_ns(word["elapsed"])
    return end - start if start is not None and end is not None else 0


def _held(word: dict[str, str], tres: str, held: tuple[str, ...], asked: tuple[str, ...]) -> int | None:
    """The amount of a resource that the job held or else requested; 0 if it is not stated, None if it is not an integer."""
    for of_tres, columns in (("alloc_tres", held), ("req_tres", asked)):
        if word[of_tres] and (count := sc.tres_count(word[of_tres], tres)) > 0:
            return count
        for name in columns:
            if word[name]:
                found = whole(word[name])
                if found is None or found > 0:
                    return found
    return 0


def _memory_kb(word: dict[str, str], cores: int, nodes: int) -> int:
    for of_tres in ("alloc_tres", "req_tres"):
        if word[of_tres] and (found := sc.tres_memory_kb(word[of_tres], cores)) > 0:
            return found
    return sc.memory_kb(word["memory"], cores, nodes) if word["memory"] else -1


def _gpus(word: dict[str, str], nodes: int) -> int:
    """Number of GPUs that the job held or else requested; 0 if there are words and none names GPUs, else -1."""
    if not (word["alloc_tres"] or word["req_tres"] or word["alloc_gres"] or word["req_gres"]):
        return -1
    counts = [sc.tres_count(word[name], "gres/gpu") for name in ("alloc_tres", "req_tres")]
    counts += [sc.gres_count(word[name], "gpu", nodes) for name in ("alloc_gres", "req_gres")]
    return next((count for count in counts if count > 0), 0)
