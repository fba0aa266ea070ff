"""What a log calls what its jobs ask for: partitions, accounts, features, reservations, nodes; and its priorities."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from bls.workloads import format_of
from bls.workloads.header import FACT
from bls.workloads.readers.sacct_dump import sacct_words
from bls.workloads.workload import Workload
from traces.base.given_file import without_ending


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
