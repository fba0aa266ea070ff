"""The logs of the Parallel Workloads Archive: their names, addresses and citations.

The catalogue is a file of data, ``bls/workloads/archive.toml``; nothing is downloaded here.

Source: D. G. Feitelson, D. Tsafrir, D. Krakov, "Experience with using the Parallel Workloads Archive", J. Parallel
Distrib. Comput. 74(10), 2014, doi:10.1016/j.jpdc.2014.06.013.
"""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from traces.base.errors import InputError, one_of, shown, whole
from traces.base.given_file import parse_toml

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_PATH = re.compile(r"l_[a-z0-9_]+/[A-Za-z0-9.-]+\.swf\.gz")
_SUM = re.compile(r"[0-9a-f]{64}")
_MOST = 10**10


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedLog:
    """One log of the archive. Raises InputError if a value is not allowed."""

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

    def __post_init__(self) -> None:
        for name in (self.name, *self.aliases):
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise InputError(f"name {shown(name)}; allowed: small letters and digits, joined by single hyphens")
        for key in ("title", "provided_by", "cite", "note"):
            text = getattr(self, key)
            if not isinstance(text, str) or not text.isprintable() or text != text.strip():
                raise InputError(f"{self.name}: {key} {shown(text)}; allowed: one line of text")
        if not self.title:
            raise InputError(f"{self.name}: the title is empty; allowed: the machine and where it stood")
        if not isinstance(self.path, str) or not _PATH.fullmatch(self.path):
            raise InputError(f"{self.name}: path {shown(self.path)}; allowed: l_FOLDER/FILE.swf.gz")
        for key in ("jobs", "jobs_at_most", "cores"):
            number = getattr(self, key)
            if number is not None:
                whole(f"{self.name}: {key}", number, 1, _MOST)
        known = self.text_sha256
        if known is not None and not (isinstance(known, str) and _SUM.fullmatch(known)):
            raise InputError(f"{self.name}: text_sha256 {shown(known)}; allowed: 64 digits 0-9 and a-f")

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
    """The archive and its logs. Raises InputError if two logs share a name."""

    title: str  # its name
    url: str  # its address; ends in a slash
    # the paper that the archive asks to cite
    cite: str
    doi: str
    logs: tuple[ArchivedLog, ...]  # in the archive's order

    def __post_init__(self) -> None:
        for key in ("title", "url", "cite", "doi"):
            text = getattr(self, key)
            if not isinstance(text, str) or not text:
                raise InputError(f"archive: {key} {shown(text)}; allowed: a text")
        if not self.url.startswith("https://") or not self.url.endswith("/"):
            raise InputError(f"archive: url {shown(self.url)}; allowed: https://…/")
        owner: dict[str, str] = {}
        for log in self.logs:
            for name in log.called():
                if name in owner:
                    raise InputError(f"{log.name}: the name {shown(name)} is also that of {owner[name]}")
                owner[name] = log.name

    def page(self, log: ArchivedLog) -> str:
        """The URL of the archive's page about a log, which describes its quality."""
        return f"{self.url}{log.path.partition('/')[0]}/"


@cache
def catalogue() -> Archive:
    """The shipped catalogue."""
    text = files("bls").joinpath("workloads/archive.toml").read_text(encoding="utf-8")
    return parse_catalogue(text)


def parse_catalogue(text: str) -> Archive:
    """Read the archive from a TOML text, as ``bls/workloads/archive.toml``. Raises InputError if it cannot be used."""
    plain = parse_toml(text, "catalogue")
    _only("catalogue", plain, ("archive", "log"))
    head, logs = plain["archive"], plain["log"]
    if not isinstance(head, dict) or not isinstance(logs, list):
        raise InputError("catalogue: allowed: one table [archive] and tables [[log]]")
    _only("archive", head, ("title", "url", "cite", "doi"))
    return Archive(**head, logs=tuple(_log(f"log {place + 1}", log) for place, log in enumerate(logs)))


def _log(where: str, values: Any) -> ArchivedLog:
    if not isinstance(values, dict):
        raise InputError(f"{where}: {shown(values)}; allowed: a table")
    _only(where, values, ("name", "title", "path"), tuple(ArchivedLog.__dataclass_fields__))
    aliases = values.get("aliases", [])
    if not isinstance(aliases, list):
        raise InputError(f"{where}: aliases {shown(aliases)}; allowed: a list of names")
    try:
        return ArchivedLog(**{**values, "aliases": tuple(aliases)})
    except InputError as error:
        raise InputError(f"{where}: {error.text}") from None


def _only(where: str, values: Mapping[str, Any], needed: tuple[str, ...], others: tuple[str, ...] = ()) -> None:
    for key in values:
        if key not in needed + others:
            raise one_of("key", key, needed + others, where)
    for key in needed:
        if key not in values:
            raise InputError(f"{where}: {key} is missing")


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
