"""Merging workloads: the jobs of all logs, on one clock."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from bls.options import ALIGN, NUMBERS
from bls.workloads.columns import COLUMNS, OPTIONAL, distinct, first_rejects
from bls.workloads.header import TITLES, Calendar, header_facts, log_name, merged_header, names_in
from bls.workloads.workload import Workload
from traces.base.errors import InputError, one_of, shown
from traces.base.time import MAX_NS, NS_PER_S
from traces.compiled import Array

NAMED = ("user", "group", "application", "queue", "partition", "qos")  #: columns whose numbers stand for names

#: Rules for numbers without names that two logs share: they mean the same, or they are moved apart.
SAME, APART = "same", "apart"

#: Facts of a header that concern the whole log. If logs differ in one, a remark reports it, and the merged log does not
#: state it.
_OF_ALL = ("MaxProcs", "MaxNodes", "TimeZone", "TimeZoneString")
_NO_ROOM = "cannot be moved apart from the others' within 2**62"
_Labels = Mapping[int, str]


def numbers_of(text: str | None) -> dict[str, str]:
    """The rules of :func:`merge` for numbers without names, by column; key "" for all others. Raises InputError otherwise."""
    found: dict[str, str] = {}
    for word in () if text is None else text.split(","):
        column, equals, how = word.strip().rpartition("=")
        if how not in (SAME, APART) or bool(equals) != bool(column) or column in found:
            raise InputError(
                f"{NUMBERS}: {shown(word.strip())}; allowed: {SAME}, {APART}, or by column, each once, as user=apart,queue=same"
            )
        if column and column not in NAMED:
            raise one_of("column", column, NAMED, str(NUMBERS))
        found[column] = how
    return found


def merge(
    workloads: Sequence[Workload], *, align: str = ALIGN.default, numbers: str | None = NUMBERS.default
) -> Workload:
    """Merge several workloads into one.

    - ``workloads``: the first keeps its job numbers. If any job number of a later log is taken, the whole log is renumbered,
      its lowest number following the highest so far. A preceding job that is not in its log is dropped; of a list, the first
      job in the log comes first.
    - ``align``: whether logs are aligned by their ``UnixStartTime`` ("calendar"), the earliest being time 0, or all begin at
      time 0 ("start")
    - ``numbers``: the rule for numbers of users, groups … without names that two logs share: ``same``, ``apart``, or by column,
      as ``user=apart,queue=same``. By default such logs are refused. With ``same``, the number gets the name that another log
      has for it; logs with two names for it are refused.

    Lines are numbered through all logs. ``remarks`` list the facts in which headers differ. Raises InputError if there is no
    workload, a log does not state when it began, jobs of a later log are running at its time 0, two logs share numbers without
    names and there is no rule for them, or a number or an instant is beyond 2**62.
    """
    ALIGN.check(align)
    rules = numbers_of(numbers)
    if not workloads:
        raise InputError("merge: no workload; allowed: one or more")
    begins = (Calendar.of(workload).start for workload in workloads)
    starts_s = [None if begin is None else int(begin.timestamp()) for begin in begins]
    start_s, offsets_ns = starts_s[0] if len(set(starts_s)) == 1 else None, [0] * len(workloads)
    if align == "calendar":
        if None in starts_s:
            unstated = workloads[starts_s.index(None)].source
            raise InputError(f"{ALIGN}: {unstated} has no UnixStartTime in its header; allowed: start")
        known = [begun for begun in starts_s if begun is not None]
        start_s = min(known)
        offsets_ns = [(begun - start_s) * NS_PER_S for begun in known]
    parts: list[dict[str, Array]] = []  # columns of each log
    for workload, offset_ns in zip(workloads, offsets_ns, strict=True):
        parts.append(_apart(workload, offset_ns, parts))
    shifts = [int(part["job_id"][0] - workload.job_id[0]) for workload, part in zip(workloads, parts, strict=True)]
    also_preceding = _also_preceding(workloads, shifts, parts)
    further = [dict(workload.extras) for workload in workloads]
    labels: dict[str, _Labels] = {}
    for name in dict.fromkeys((*NAMED, *(name for workload in workloads for name in workload.labels))):
        columns_of = parts if name in NAMED else further
        named = [_labels(workload, name) for workload in workloads]
        made, labels[name] = _by_name(name, [one.get(name) for one in columns_of], named, workloads, rules)
        for one, column in zip(columns_of, made, strict=True):
            if column is not None:
                one[name] = column
    # By (submit, line): each log is sorted so already, and its lines follow those of earlier logs.
    order = np.argsort(np.concatenate([part["submit_ns"] for part in parts]), kind="stable")
    columns = {name: _joined([part.pop(name) for part in parts], order) for name in list(parts[0])}
    extras: dict[str, Array] = {}
    for name in dict.fromkeys(name for one in further for name in one):
        of_logs = zip(further, workloads, strict=True)
        given = [one.get(name, np.broadcast_to(np.int64(-1), len(workload))) for one, workload in of_logs]
        extras[name] = _joined(given, order)
    reasons = dict.fromkeys(reason for workload in workloads for reason in workload.rejects)
    rejected = (one._replace(source=log_name(workload)) for workload in workloads for one in workload.rejected)
    names = labels.pop("application")
    return Workload(
        **columns,
        window=None,
        header=merged_header(workloads, len(order), start_s, labels),
        rejects={reason: sum(workload.rejects.get(reason, 0) for workload in workloads) for reason in reasons},
        reordered=sum(workload.reordered for workload in workloads),
        clamped=sum(workload.clamped for workload in workloads),
        source=" + ".join(log_name(workload) for workload in workloads),
        n_lines=sum(workload.n_lines for workload in workloads),
        extras=extras,
        names=names,
        waiting=sum(workload.waiting for workload in workloads),
        ids={
            number + shift: workload.ids[number]
            for workload, shift in zip(workloads, shifts, strict=True)
            for number in (workload.job_id.tolist() if workload.ids else ())  # some ids may be of jobs left out
            if number in workload.ids
        },
        also_preceding=also_preceding,
        rejected=first_rejects(rejected),
        remarks=tuple(_disagreements(workloads)),
        labels={name: known for name, known in labels.items() if known},
    )


def _labels(workload: Workload, name: str) -> _Labels:
    """A log's names of the numbers of a column, from its reader or else from its header."""
    if name == "application":
        return workload.names
    return workload.labels.get(name) or (names_in(workload.header, TITLES[name]) if name in TITLES else {})


def _by_name(
    name: str,
    columns: Sequence[Array | None],
    labels: Sequence[_Labels],
    workloads: Sequence[Workload],
    rules: Mapping[str, str],
) -> tuple[list[Array | None], _Labels]:
    """A column of each log, with the same number for the same name, and all names. A number without a name stays or is moved
    apart, by the rules; if it means the same in all logs, it gets the name that another log has for it."""
    used = [np.zeros(0, np.int64) if column is None else np.unique(column) for column in columns]
    used = [numbers[numbers >= 0] for numbers in used]
    # Two numbers with one name are two things, between which the name cannot decide.
    counts = [Counter(known.values()) for known in labels]
    named: list[_Labels] = [
        {number: label for number, label in known.items() if count[label] == 1}
        for known, count in zip(labels, counts, strict=True)
    ]
    how = rules.get(name, rules.get(""))
    if how is None:
        _refuse_shared(name, used, labels, named, workloads)
    elif how == SAME:
        named = [_completed(name, place, used[place], labels, named[place], workloads) for place in range(len(used))]
    bare = [[n for n in own.tolist() if n not in known] for own, known in zip(used, named, strict=True)]
    made = list(columns)
    number_of: dict[str, int] = {}
    found: dict[int, str] = {}
    taken: set[int] = set()
    highest = max((numbers[-1] for numbers in bare if numbers), default=0)
    for place, (column, own, known) in enumerate(zip(columns, used, named, strict=True)):
        moved = how == APART and not taken.isdisjoint(bare[place])
        shift = max(taken) + 1 - bare[place][0] if moved else 0
        new = {number: number + shift for number in bare[place]}
        highest = max(highest, *new.values(), *(() if place else known), 0)
        for number, label in known.items():
            if label not in number_of:
                highest += place > 0
                number_of[label] = highest if place else number  # the first log keeps its numbers
            new[number] = number_of[label]
            found[new[number]] = label
        if highest > MAX_NS:
            raise InputError(f"{workloads[place].source}: its {name} numbers {_NO_ROOM}")
        taken.update(new.values())
        for number, label in labels[place].items():
            if number in new:
                found.setdefault(new[number], label)
        if column is not None and any(new[number] != number for number in own.tolist()):
            values, at = distinct(column)
            made[place] = np.array([new.get(number, -1) for number in values.tolist()], np.int64)[at]
    return made, found


def _refuse_shared(
    name: str, used: Sequence[Array], labels: Sequence[_Labels], named: Sequence[_Labels], workloads: Sequence[Workload]
) -> None:
    """Refuse two logs that share a number for which at least one of them has no name."""
    have = [{*own.tolist(), *known} for own, known in zip(used, labels, strict=True)]
    bare = [set(own.tolist()) - known.keys() for own, known in zip(used, named, strict=True)]
    for later in range(len(used)):
        for one, other in ((k, j) for j in range(later) for k, j in ((later, j), (j, later))):
            if shared := bare[one] & have[other]:
                number = min(shared)
                own = " of its own" if number in labels[one] else ""
                raise InputError(
                    f"{name} {number} of {workloads[one].source} has no name{own}; {workloads[other].source} also has {name} "
                    f"{number}; allowed: {NUMBERS:{SAME}|{APART}}"
                )


def _completed(
    name: str, place: int, used: Array, labels: Sequence[_Labels], named: _Labels, workloads: Sequence[Workload]
) -> _Labels:
    """The names of a log, completed by other logs' names of its numbers."""
    completed = dict(named)
    for number in used.tolist():
        if number in named:
            continue
        stated = {known[number]: k for k, known in enumerate(labels) if number in known}
        if len(stated) > 1:
            both = ", ".join(f"{shown(label)} in {workloads[k].source}" for label, k in stated.items())
            raise InputError(
                f"{name} {number} of {workloads[place].source} has no name of its own, and is {both}; "
                f"allowed: {NUMBERS:{name}={APART}}"
            )
        for label in stated:
            if number not in labels[place] and label not in completed.values():
                completed[number] = label
    return completed


def _disagreements(workloads: Sequence[Workload]) -> Iterator[str]:
    """The facts in which the headers differ, so that the merged log does not state them."""
    facts = [header_facts(workload.header) for workload in workloads]
    for name in _OF_ALL:
        stated = [found.get(name, "none") for found in facts]
        if len(set(stated)) > 1:
            every = ", ".join(f"{log_name(one)} {value}" for one, value in zip(workloads, stated, strict=True))
            yield f"{name} is left out of the merged log, as the headers differ: {every}"


def _also_preceding(
    workloads: Sequence[Workload], shifts: Sequence[int], parts: Sequence[Mapping[str, Array]]
) -> dict[int, tuple[int, ...]]:
    """The further preceding jobs of the logs, without those that became the first ones."""
    found = {}
    for workload, shift, part in zip(workloads, shifts, parts, strict=True):
        if not workload.also_preceding:
            continue
        first = dict(zip(part["job_id"].tolist(), part["preceding"].tolist(), strict=True))
        for number, others in workload.also_preceding.items():
            there = tuple(other + shift for other in others if other + shift in first)
            if there := tuple(other for other in there if other != first.get(number + shift)):
                found[number + shift] = there
    return found


def _joined(parts: Sequence[Array], order: Array) -> Array:
    """Concatenate columns and reorder them; a column with the same number for all rows of all logs stays one number."""
    if all(part.strides == (0,) and part[0] == parts[0][0] for part in parts):
        return np.asarray(parts[0][0])
    return np.asarray(np.concatenate(parts)[order])


def _apart(workload: Workload, offset_ns: int, before: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """The columns of a log, moved by an offset, with job numbers and lines that earlier logs do not have."""
    part: dict[str, Array] = {name: getattr(workload, name) for name in (*COLUMNS, *OPTIONAL)}
    latest, source = {name: int(getattr(workload, name).max()) for name in ("cancel_ns", "begin_ns")}, workload.source
    if max(int(workload.submit_ns[-1]), *latest.values()) + offset_ns > MAX_NS:
        raise InputError(f"{source}: begins too long after the others: an instant is beyond 2**62 ns")
    if offset_ns and np.any(workload.preset == 1):
        raise InputError(f"{source}: has jobs that are running at its time 0, which is not time 0 of the merged log")
    part["submit_ns"] = workload.submit_ns + offset_ns
    for name, last_ns in latest.items():
        if last_ns >= 0:
            part[name] = np.where(part[name] < 0, -1, part[name] + offset_ns)
    part["line"] = workload.line + max((int(other["line"].max()) for other in before), default=0)
    shift = _shift(workload.job_id, [other["job_id"] for other in before])
    if int(workload.job_id.max()) + shift > MAX_NS:
        raise InputError(f"{source}: its job numbers {_NO_ROOM}")
    part["job_id"] = workload.job_id + shift
    if int(workload.preceding.max()) >= 0:
        preceding = _first_there(workload)
        there = np.isin(preceding, workload.job_id)
        part["preceding"] = np.where(there, preceding + np.where(there, shift, 0), -1)
    return part


def _first_there(workload: Workload) -> Array:
    """The preceding jobs; of a list, the first one in the log."""
    if not workload.also_preceding:
        return workload.preceding
    row_of = {number: row for row, number in enumerate(workload.job_id.tolist())}
    preceding = np.array(workload.preceding)
    for number, others in workload.also_preceding.items():
        row = row_of.get(number)
        if row is not None and preceding[row] >= 0 and int(preceding[row]) not in row_of:
            preceding[row] = next((other for other in others if other in row_of), -1)
    return preceding


def _shift(numbers: Array, taken: Sequence[Array]) -> int:
    """A number to add to all numbers so that none of them is taken: 0 if none is."""
    if not taken:
        return 0
    lowest, highest = int(numbers.min()), int(numbers.max())
    free = max(int(column.max()) for column in taken) + 1
    near = [column[(column >= lowest) & (column <= highest)] for column in taken]
    return free - lowest if any(np.isin(numbers, column).any() for column in near if len(column)) else 0
