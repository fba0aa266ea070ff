"""The logs of the Parallel Workloads Archive: their names, addresses and citations.

The catalogue is a file of data, ``bls/workloads/archive.toml``; nothing is downloaded here.

Source: D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads Archive", J. Parallel
Distrib. Comput. 74(10), 2014, doi:10.1016/j.jpdc.2014.06.013.
"""

import tomllib
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from traces.base.errors import one_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLog:
    """One log of the archive."""

    name: str  # name of the log here, as ``curie``
    title: str  # the machine and its place
    path: str  # the file under the archive's URL, as ``l_cea_curie/CEA-Curie-2011-2.1-cln.swf.gz``
    aliases: tuple[str, ...] = ()  # further names
    jobs: int | None = None  # lines of the file; None if unknown
    jobs_at_most: int | None = None  # if ``jobs`` is unknown: lines before the log was cleaned
    cores: int | None = None  # processors of the machine; None if unknown
    provided_by: str = ""  # person to acknowledge; empty if only the file's header names one
    cite: str = ""  # a paper about the log, to be cited as well; empty if none is known
    note: str = ""  # what to know before using it
    # SHA-256 of the unpacked log, 64 small hexadecimal digits; None if unknown. Of the log rather than the file, since the
    # same log may be compressed again.
    text_sha256: str | None = None

    @property
    def file(self) -> str:
        """The file's name, as ``CEA-Curie-2011-2.1-cln.swf.gz``."""
        return self.path.rpartition("/")[2]

    def called(self) -> tuple[str, ...]:
        """All names of the log, in small letters: the name, the aliases, the file with and without ending."""
        file = self.file.lower()
        return (self.name, *self.aliases, file, file.removesuffix(".gz"), file.removesuffix(".swf.gz"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """The archive and its logs; no two logs share a name."""

    title: str  # its name
    url: str  # its address; ends in a slash
    # the paper that the archive asks to cite
    cite: str
    doi: str
    logs: tuple[ArchivedLog, ...]  # in the archive's order

    def page(self, log: ArchivedLog) -> str:
        """The URL of the archive's page about a log, which describes its quality."""
        return f"{self.url}{log.path.partition('/')[0]}/"


@cache
def catalogue() -> Archive:
    """The shipped catalogue."""
    text = files("bls").joinpath("workloads/archive.toml").read_text(encoding="utf-8")
    plain = tomllib.loads(text)
    logs = tuple(ArchivedLog(**log | {"aliases": tuple(log.get("aliases", ()))}) for log in plain["log"])
    return Archive(**plain["archive"], logs=logs)


def find_log(name: str) -> ArchivedLog:
    """The log with a name, an alias or a file name, in any case. Raises InputError, which lists the names, for another."""
    logs = catalogue().logs
    wanted = name.strip().lower()
    for log in logs:
        if wanted in log.called():
            return log
    raise one_of("log of the archive", name, [log.name for log in logs])


def thanks(log: ArchivedLog, acknowledge: str = "") -> list[str]:
    """Credits for work that uses a log: lines of text. ``acknowledge``: the text after ``Acknowledge:`` in its header."""
    archive = catalogue()
    provider = acknowledge or log.provided_by or f"see {archive.page(log)}"
    return [
        f"Source:      {archive.title}, {archive.url}",
        f"Acknowledge: {provider}",
        f"Cite:        {archive.cite}, doi:{archive.doi}",
        *([f"Cite:        {log.cite}"] if log.cite else []),
        *([f"Note:        {log.note}"] if log.note else []),
        f"Read:        {archive.page(log)}",
    ]


def catalogue_rows() -> list[dict[str, Any]]:
    """The logs that can be fetched, as plain values; None for unknown ones."""
    archive = catalogue()
    rows = []
    for log in archive.logs:
        plain = asdict(log)
        url = archive.url + plain.pop("path")
        cite = [f"{archive.cite}, doi:{archive.doi}", *([log.cite] if log.cite else [])]
        rows.append(plain | {"file": log.file, "url": url, "cite": cite})
    return rows


def catalogue_table() -> str:
    """The logs that can be fetched, one per line: name, jobs, cores, file, machine; ``-`` for unknown values."""
    lines = [("name", "jobs", "cores", "file", "machine")]
    for log in catalogue().logs:
        jobs = f"{log.jobs:,}" if log.jobs else f"≤ {log.jobs_at_most:,}" if log.jobs_at_most else "-"
        lines.append((log.name, jobs, f"{log.cores:,}" if log.cores else "-", log.file, log.title))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        f"{name.ljust(widths[0])}  {jobs.rjust(widths[1])}  {cores.rjust(widths[2])}  {file.ljust(widths[3])}  {title}"
        for name, jobs, cores, file, title in lines
    )
