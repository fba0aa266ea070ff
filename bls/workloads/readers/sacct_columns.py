"""The columns of a dump of Slurm's ``sacct``: which there are, and the words of a line by what they are used for."""

from __future__ import annotations

import csv
import re

from traces.base.errors import InputError, shown

#: What a word is used for, and the columns it is taken from: the first that the dump has.
USES = {
    "job_id": ("JobID", "JobIDRaw"),
    "submit": ("Submit",),
    "start": ("Start",),
    "end": ("End",),
    "eligible": ("Eligible",),
    "elapsed_raw": ("ElapsedRaw",),
    "elapsed": ("Elapsed",),
    "alloc_cores": ("AllocCPUS",),
    "n_cores": ("NCPUS",),
    "req_cores": ("ReqCPUS",),
    "alloc_tres": ("AllocTRES",),
    "req_tres": ("ReqTRES",),
    "alloc_gres": ("AllocGRES",),
    "req_gres": ("ReqGRES",),
    "limit_raw": ("TimelimitRaw",),
    "limit": ("Timelimit",),
    "nodes": ("AllocNodes", "NNodes", "ReqNodes"),
    "memory": ("ReqMem",),
    "state": ("State",),
    "user": ("User", "UID"),
    "group": ("Group", "GID", "Account"),
    "account": ("Account",),
    "partition": ("Partition",),
    "qos": ("QOS",),
    "application": ("JobName",),
    # Kept nowhere: read again for the jobs of which they are asked (``bls.workloads.readers.sacct_words``).
    "least_nodes": ("ReqNodes",),
    "node_list": ("NodeList",),
    "features": ("Constraints",),
    "reservation": ("Reservation",),
    "priority": ("Priority",),
}

# Each needs one of these.
_NEEDED = {
    "the job number": ("job_id",),
    "the submit": ("submit",),
    "the run time": ("elapsed_raw", "elapsed", "end"),
    "the cores": ("alloc_cores", "n_cores", "req_cores", "alloc_tres", "req_tres"),
}

# Columns of free text, in which the mark between fields, and the end of a line, may be a part of a word.
_FREE = (
    "JobName", "Comment", "AdminComment", "SystemComment", "Extra", "FailedNode", "Reason", "StdErr", "StdIn", "StdOut",
    "SubmitLine", "WCKey", "WorkDir",
)  # fmt: skip

# What is between the first two names of a line that has no usual mark: anything that no name has in it.
_FIRST_NAMES = re.compile(r'\s*"?[A-Za-z]\w*"?([^\w"]+)"?[A-Za-z]')
_USUAL = "|,;\t"
_DATUM = re.compile(r"[0-9]+(?:[_+.].*)?|[0-9]{4}-[0-9]{2}-[0-9]{2}T.*|(?:[0-9]+-)?[0-9]+:[0-9:]+")


class DumpColumns:
    """The columns that a dump's first line names.

    - ``mark``: what separates fields
    - ``further``: the columns of ``Workload.extras`` that can be read
    - ``free``: the columns of free text that the dump has
    - ``ends_free``: whether a line ends in one of them
    - ``names``: the dump's own name of the column of each use, where it has one

    Raises InputError if a column that is needed is missing, or one is there twice; if the line names no columns, or has
    them in fixed widths.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.mark = _mark(text, where)
        named = [name.strip().strip('"') for name in text.split(self.mark)]
        self._ends_in_mark = len(named) > 1 and not named[-1]  # as --parsable does
        if self._ends_in_mark:
            del named[-1]
        names = [name.lower() for name in named]
        if not {"jobid", "jobidraw", "submit"} & set(names) and sum(map(bool, map(_DATUM.fullmatch, named))) > 1:
            raise InputError(
                f"{where}: {shown(text)} is a job, and names no columns; leave out --noheader: the first line of a dump of "
                "sacct names them"
            )
        self._width = len(names)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"{where}: column {shown(name)} is there twice")
        self._places = {
            use: next((names.index(column.lower()) for column in columns if column.lower() in names), -1)
            for use, columns in USES.items()
        }
        self.names = {use: named[place] for use, place in self._places.items() if place >= 0}
        for kind, uses in _NEEDED.items():
            if all(self._places[use] < 0 for use in uses) or (kind == "the run time" and not self._has_run_time()):
                columns = [column for use in uses for column in USES[use]]
                raise InputError(
                    f"{where}: {shown(text)} names no column for {kind}: {', '.join(columns)}; "
                    "the first line of a dump of sacct names its columns"
                )
        if self._places["group"] == self._places["account"]:
            self._places["account"] = -1
        self.free = tuple(column for column in _FREE if column.lower() in names)
        self._free_places = [names.index(column.lower()) for column in self.free]
        self.ends_free = self._width - 1 in self._free_places and not self._ends_in_mark
        self.further = further_columns({use for use, place in self._places.items() if place >= 0})

    def _has_run_time(self) -> bool:
        places = self._places
        return places["elapsed_raw"] >= 0 or places["elapsed"] >= 0 or (places["end"] >= 0 and places["start"] >= 0)

    def words(self, text: str) -> list[dict[str, str]]:
        """A line's words by their use, empty where the dump has no such column.

        A line with more fields than there are columns has them because a word of free text has the mark in it; the words
        are then given once for each column of free text to which all of them may belong. There are none if the line has
        fewer fields.
        """
        fields = self._fields(text)
        surplus = -1 if fields is None else len(fields) - self._width
        if fields is None or surplus < 0:
            return []
        candidates = [] if surplus else [fields]
        for place in self._free_places if surplus else ():
            name = self.mark.join(fields[place : place + surplus + 1])
            candidates.append([*fields[:place], name, *fields[place + surplus + 1 :]])
        return [self._by_use(candidate) for candidate in candidates if self._is_sound(candidate, text)]

    def goes_on(self, text: str) -> bool:
        """Whether a line may end within a word of free text, so that the next one belongs to it."""
        if self.mark == "," and text.count('"') % 2:
            return True
        fields = self._fields(text)
        return fields is not None and any(place < len(fields) < self._width for place in self._free_places)

    def _is_sound(self, fields: list[str], text: str) -> bool:
        # A line breaks within free text only; where fields may be quoted, within any.
        if "\n" not in text or (self.mark == "," and '"' in text):
            return True
        return all("\n" not in field or place in self._free_places for place, field in enumerate(fields))

    def first_word(self, text: str) -> str:
        """The word of a line that stands where the job's number is, as far as the line goes."""
        fields, place = text.split(self.mark), self._places["job_id"]
        return fields[place].strip() if place < len(fields) else ""

    def _fields(self, text: str) -> list[str] | None:
        fields = text.split(self.mark)
        if '"' in text and self.mark == ",":
            try:
                fields = next(csv.reader([text], strict=True))
            except (csv.Error, StopIteration):
                return None
        if self._ends_in_mark and len(fields) > self._width and not fields[-1].strip():
            del fields[-1]
        return fields

    def _by_use(self, fields: list[str]) -> dict[str, str]:
        words = [field.strip() for field in fields]
        words.append("")  # the place -1
        return {use: words[place] for use, place in self._places.items()}


def further_columns(uses: set[str]) -> tuple[str, ...]:
    """The columns of ``Workload.extras`` that can be read where there are words for some uses."""
    needed = {
        "account": {"account"},
        "nodes": {"nodes", "alloc_tres", "req_tres"},
        "gpus": {"alloc_tres", "req_tres", "alloc_gres", "req_gres"},
    }
    return tuple(name for name, of in needed.items() if uses & of)


def _mark(text: str, where: str) -> str:
    """What separates the fields of a first line."""
    for mark in _USUAL:
        if mark in text:
            return mark
    match = _FIRST_NAMES.match(text)
    if match is None:
        return _USUAL[0]
    if match[1].isspace():
        raise InputError(
            f"{where}: {shown(text.strip())} has columns of fixed width, which are cut; "
            f"add --parsable2 to the command of sacct"
        )
    return match[1]
