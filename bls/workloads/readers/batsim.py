"""Reads the JSON workloads of Batsim, plain or compressed.

docs/reference/inputs.md describes the use of its keys. Every entry of ``jobs`` is a job or a reject; its position, from 1, is
its line number. Only delays and sequences of them define the run time of a job. For other profiles a key ``runtime`` or
``real_duration`` (s), which Batsim itself does not read, defines it.

A job is *malformed* if it is not an object, a key is missing (except ``walltime`` and ``user``), is not a number, is beyond
±2**62 (ns for times) or negative, the ``walltime`` is 0, or its profile is invalid. Then *unknown profile* and *run time not
known* are tested, before the reasons of all readers.

Source: Batsim's documentation, "Workload", https://batsim.readthedocs.io/en/latest/input-workload.html; P.-F. Dutot et al.,
doi:10.1007/978-3-319-61756-5_10.
"""

import os
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from bls.workloads.readers.lines import JobRows, Names, exact_ns
from bls.workloads.workload import MALFORMED, NO_PROCESSORS, NO_RUN_TIME, Workload
from traces.base.errors import InputError, shown
from traces.base.given_file import GivenFile, parse_json
from traces.base.time import MAX_NS

UNKNOWN_PROFILE = "unknown profile"
RUN_TIME_NOT_KNOWN = "run time not known"
_DELAYS = frozenset(("delay", "DelayProfile"))
_SEQUENCES = frozenset(("composed", "sequential_composition", "SequentialCompositionProfile"))
_RUN_TIMES = ("runtime", "real_duration")
_DEEPEST = 100  # sequences of sequences
_LONGEST_WORD = 100
MAX_TEXT_BYTES = 1 << 28  #: the longest text: all of a JSON text is in memory at once, several times


def read_batsim(path: str | os.PathLike[str]) -> Workload:
    """Read a workload of Batsim. Raises InputError, in one line that names the file, if it cannot be read, is not JSON, has no
    ``jobs`` and ``profiles``, or holds no valid job."""
    source = os.fspath(path)
    data = _parsed(path, source)
    jobs, profiles = data["jobs"], data["profiles"]
    ids = [_identity(job) for job in jobs]
    plain = _plain_numbers(ids)
    numbers, users = Names(), Names()
    run_times = _RunTimes(profiles, source)
    rows = JobRows(source)
    if isinstance(data.get("nb_res"), int):
        rows.header.append(f"; MaxProcs: {data['nb_res']}")
    if isinstance(data.get("description"), str):
        rows.header.append(f"; Note: {' '.join(data['description'].split())}")
    for place, (job, name) in enumerate(zip(jobs, ids, strict=True), start=1):
        submit, cores, limit = _asked(job)
        if name is None or submit is None or cores is None or limit is None:
            wrong = {"id": name, "subtime": submit, "res": cores, "walltime": limit}
            key = next(key for key, value in wrong.items() if value is None)
            rows.count(MALFORMED, place, key, _word(job, key))
            continue
        run = run_times.of(job.get("profile"))
        if isinstance(run, str):
            rows.count(run, place, "profile", _word(job, "profile"))
        elif run <= 0 or cores == 0:
            key = "profile" if run <= 0 else "res"
            rows.count(NO_RUN_TIME if run <= 0 else NO_PROCESSORS, place, key, _word(job, key))
        else:
            rows.count("")
            job_id = plain[name] if plain else numbers.known.setdefault(name, len(numbers.known) + 1)
            rows.ids.setdefault(job_id, name)
            user = job.get("user")
            known = isinstance(user, str | int) and not isinstance(user, bool)
            rows.add(job_id, submit, run, cores, limit or run, place, user=users.number(f"{user}") if known else -1)
    if all(name == f"{job_id}" for job_id, name in rows.ids.items()):
        rows.ids.clear()  # they add nothing to the numbers
    return rows.workload()


def _parsed(path: str | os.PathLike[str], source: str) -> dict[str, Any]:
    with GivenFile(path, "workload file") as file:
        limit = f"{MAX_TEXT_BYTES:,} bytes of JSON; allowed: up to as many, or as SWF any number"
        text = file.whole(MAX_TEXT_BYTES, limit)
    if not text:
        raise InputError(f"{source}: the file is empty")
    # Decimals, since 0.1 s is not a float; a job with NaN or Infinity is a reject.
    data = parse_json(text, source, parse_float=Decimal, parse_constant=str)
    wrong = f"{source}: not a workload of Batsim"
    if not isinstance(data, dict):
        raise InputError(f"{wrong}: a {type(data).__name__}, no object with jobs and profiles")
    for key, kind, name in (("jobs", list, "a list"), ("profiles", dict, "an object")):
        if not isinstance(data.get(key), kind):
            found = f"a {type(data[key]).__name__}" if key in data else "missing"
            raise InputError(f"{wrong}: {key} is {found}; it must be {name}")
    return data


def _word(job: Any, key: str) -> str:
    # The value of a job's key, for messages: shortened if it is long.
    value = job.get(key, "") if isinstance(job, dict) else job
    return value[:_LONGEST_WORD] if isinstance(value, str) else repr(value)[:_LONGEST_WORD]


def _identity(job: Any) -> str | None:
    """The id of a job as a text; None if it has none."""
    name = job.get("id") if isinstance(job, dict) else None
    if isinstance(name, bool) or not isinstance(name, str | int):
        return None
    try:
        return str(name) if str(name).rpartition("!")[2] else None
    except ValueError:  # Python refuses to write a number of thousands of digits
        return None


def _plain_numbers(ids: Iterable[str | None]) -> dict[str, int]:
    """The number of each id, without the workload's name; empty if an id has none, or two ids share one."""
    found = {}
    for name in dict.fromkeys(ids):
        if name is not None:
            number = name.rpartition("!")[2]
            if not (number.isascii() and number.isdigit() and len(number) < 20 and int(number) <= MAX_NS):
                return {}
            if str(int(number)) != number:  # "07" and "7" are different names
                return {}
            found[name] = int(number)
    return found if len(set(found.values())) == len(found) else {}


def _seconds(value: Any) -> int | None:
    """Seconds of JSON in ns; None if it is no number or beyond ±2**62 ns."""
    return exact_ns(value) if isinstance(value, int | Decimal) and not isinstance(value, bool) else None


def _asked(job: Any) -> tuple[int | None, int | None, int | None]:
    """Submit, cores and time limit (0 for none); None for invalid values."""
    if not isinstance(job, dict):
        return None, None, None
    submit, cores, limit = _seconds(job.get("subtime")), job.get("res"), job.get("walltime")
    if submit is not None and submit < 0:
        submit = None
    if isinstance(cores, bool) or not isinstance(cores, int) or not 0 <= cores <= MAX_NS:
        cores = None
    if limit is None or (limit == -1 and not isinstance(limit, bool)):
        return submit, cores, 0
    asked = _seconds(limit)
    return submit, cores, asked if asked is not None and asked > 0 else None


class _RunTimes:
    """Run times of the profiles, each computed once."""

    def __init__(self, profiles: dict[str, Any], source: str) -> None:
        self._profiles, self._source = profiles, source
        self._found: dict[str, int | str] = {}

    def of(self, name: Any, depth: int = 0) -> int | str:
        """The run time in ns, or the reason why jobs with this profile are rejected."""
        if isinstance(name, bool) or not isinstance(name, str | int):
            return MALFORMED
        key = f"{name}" if isinstance(name, str) or abs(name) <= MAX_NS else ""
        if key not in self._profiles:
            return UNKNOWN_PROFILE
        if depth > _DEEPEST:
            raise InputError(f"{self._source}: profile {shown(key)}: more than {_DEEPEST} sequences within each other")
        if key not in self._found:
            self._found[key] = RUN_TIME_NOT_KNOWN  # for a sequence that contains itself
            self._found[key] = self._of(self._profiles[key], depth)
        return self._found[key]

    def _of(self, profile: Any, depth: int) -> int | str:
        kind = profile.get("type") if isinstance(profile, dict) else None
        if not isinstance(kind, str):
            return MALFORMED
        if kind in _DELAYS:
            delay = _seconds(profile.get("delay"))
            return MALFORMED if delay is None else delay
        for key in _RUN_TIMES:
            if key in profile:
                run = _seconds(profile[key])
                return MALFORMED if run is None else run
        return self._sequence(profile, depth) if kind in _SEQUENCES else RUN_TIME_NOT_KNOWN

    def _sequence(self, profile: dict[str, Any], depth: int) -> int | str:
        times, parts = profile.get("repeat", profile.get("nb", 1)), profile.get("seq")
        if isinstance(times, bool) or not isinstance(times, int) or times <= 0 or not isinstance(parts, list):
            return MALFORMED
        total = 0
        for part in parts:
            run = self.of(part, depth + 1)
            if isinstance(run, str):
                return run
            total += run
        return total * times if total * times <= MAX_NS else MALFORMED
