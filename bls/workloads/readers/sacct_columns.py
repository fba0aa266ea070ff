"""The columns of a dump of Slurm's ``sacct``: which there are, and the words of a line by what they are used for."""

from __future__ import annotations

import csv

from traces.base.errors import InputError, shown

__all__ = ["Columns"]

# What a word is used for, and the columns it is taken from: the first that the dump has.
_USES = {
    "job_id": ("JobIDRaw", "JobID"),
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


class Columns:
    """The columns that a dump's first line names.

    Parameters
    ----------
    text : str
        The line.
    where : str
        Its file and number, for messages.

    Attributes
    ----------
    further : tuple of str
        The columns of ``Workload.extras`` that can be read.

    Raises
    ------
    InputError
        If a column that is needed is missing, or one is there twice.
    """

    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self._comma = next((mark for mark in "|,;\t" if mark in text), "|")
        names = [name.strip().strip('"').lower() for name in text.split(self._comma)]
        self._ends_in_comma = len(names) > 1 and not names[-1]  # as --parsable does
        if self._ends_in_comma:
            del names[-1]
        self._width = len(names)
        for name in names:
            if name and names.count(name) > 1:
                raise InputError(f"{where}: column {shown(name)} is there twice")
        self._places = {
            use: next((names.index(column.lower()) for column in columns if column.lower() in names), -1)
            for use, columns in _USES.items()
        }
        for kind, uses in _NEEDED.items():
            if all(self._places[use] < 0 for use in uses) or (kind == "the run time" and not self._has_run_time()):
                known = [column for use in uses for column in _USES[use]]
                raise InputError(
                    f"{where}: {shown(text)} names no column for {kind}: {', '.join(known)}; "
                    "the first line of a dump of sacct names its columns"
                )
        if self._places["group"] == self._places["account"]:
            self._places["account"] = -1
        found = {
            "account": self._places["account"] >= 0,
            "nodes": self._places["nodes"] >= 0,
            "gpus": self._places["alloc_tres"] >= 0 or self._places["req_tres"] >= 0,
            "eligible_s": self._places["eligible"] >= 0,
        }
        self.further = tuple(name for name, there in found.items() if there)

    def _has_run_time(self) -> bool:
        places = self._places
        return places["elapsed_raw"] >= 0 or places["elapsed"] >= 0 or (places["end"] >= 0 and places["start"] >= 0)

    def words(self, text: str) -> dict[str, str] | None:
        """A line's words by their use, empty where the dump has no such column; None if it has another number of fields."""
        fields = text.split(self._comma)
        if '"' in text and self._comma == ",":
            try:
                fields = next(csv.reader([text], strict=True))
            except (csv.Error, StopIteration):
                return None
        if self._ends_in_comma and len(fields) == self._width + 1 and not fields[-1].strip():
            del fields[-1]
        if len(fields) != self._width:
            return None
        words = [field.strip() for field in fields]
        words.append("")  # the place -1
        return {use: words[place] for use, place in self._places.items()}
