"""The rows of the study of dispatchers that plan, and the tables that they make (``tools.dispatch_study``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from statistics import fmean, median
from typing import Any, NamedTuple

from tools.estimates_study import changes, interval

__all__ = ["Group", "Key", "Row", "groups", "tables"]


@dataclass(frozen=True)
class Key:
    """What a row is known by.

    Attributes
    ----------
    machine, log, load, select, estimates : str
        Where cores are alike and not those that the log's header names, the machine is ``pool of N``.
    charged : str
        For how long jobs waited for a decision: ``0``, for as long as it took (``measured``), or a duration.
    sample : int
        0 is the log itself.
    dispatcher : str
    """

    machine: str
    log: str
    load: str
    select: str
    estimates: str
    charged: str
    sample: int
    dispatcher: str

    def line(self) -> dict[str, Any]:
        """As a file has it."""
        return asdict(self)

    @classmethod
    def of(cls, line: Mapping[str, str]) -> Key:
        """Of a line of a file."""
        words = [line[name] for name in ("machine", "log", "load", "select", "estimates", "charged")]
        return cls(*words, int(line["sample"]), line["dispatcher"])


@dataclass(frozen=True)
class Row:
    """What a dispatcher did with a sample.

    Attributes
    ----------
    jobs : int
    slowdown, slowdown_std : float
        Mean and standard deviation of (wait + run) / run.
    wait_s, wait_std_s : float
        Likewise of the waits.
    pass_ms, deciding_ms : float
        What a pass took on the mean: of all passes, and of those that planned anything (of others: before which anybody
        waited). Time of the clock × the share of a core that the process had.
    total_s : float
        What deciding took in all.
    passes, planned : int
        How many passes there were, and how many that planned anything.
    modelled : float
        Jobs in a plan, on the mean.
    solved, bettered, by_list : int
        In how many passes a model was solved, in how many the plan was better than the list's, and in how many the
        list decided as the model was too large, or nothing was found.
    stopped : int
        How many solves the clock ended: more than 0, and the row is not repeatable.
    """

    jobs: int
    slowdown: float
    slowdown_std: float
    wait_s: float
    wait_std_s: float
    pass_ms: float
    deciding_ms: float
    total_s: float
    passes: int
    planned: int
    modelled: float
    solved: int
    bettered: int
    by_list: int
    stopped: int

    def line(self) -> dict[str, Any]:
        """As a file has it: of times no more digits than are known."""
        return {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in asdict(self).items()}

    @classmethod
    def of(cls, line: Mapping[str, str]) -> Row:
        """Of a line of a file."""
        values = ((entry.name, int if entry.type == "int" else float) for entry in fields(cls))
        return cls(**{name: kind(line[name]) for name, kind in values})


class Group(NamedTuple):
    """What a table shows: all samples of a setting but for the estimates.

    Attributes
    ----------
    title : str
    rows : dict of (str, str) to dict of int to Row
        By dispatcher and estimates, and by sample.
    """

    title: str
    rows: dict[tuple[str, str], dict[int, Row]]


def groups(rows: Mapping[Key, Row]) -> list[Group]:
    """The rows of each machine, log, load and selection, charged or not."""
    found: dict[str, Group] = {}
    for key, row in rows.items():
        title = f"{key.machine}, {key.log}, {key.select}, load {key.load}"
        title += f", charged {key.charged}" if key.charged != "0" else ""
        title += ", the log itself" if key.sample == 0 else ""
        group = found.setdefault(title, Group(title, {}))
        group.rows.setdefault((key.dispatcher, key.estimates), {})[key.sample] = row
    return list(found.values())


def _with_interval(values: Sequence[float], digits: int = 1) -> str:
    mean, half = interval(values)
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if len(values) > 1 else "")


def _lines(group: Group) -> list[str]:
    first = next(iter(group.rows.values()))
    lines = [
        f"| {group.title} | samples | mean slowdown | change | σ of jobs | mean wait, min | σ of jobs | ms a pass | deciding | "
        "in all, s | planned | modelled | solved | bettered | by list | stopped |",
        "|---|" + "---|" * 15,
    ]
    for (name, estimates), samples in group.rows.items():
        of = list(samples.values())
        both = sorted(first.keys() & samples.keys())
        pairs = [samples[k].slowdown for k in both], [first[k].slowdown for k in both]
        change = changes(*pairs) if samples is not first and both else ""
        lines.append(
            f"| {name}, {estimates} | {len(of)} | {_with_interval([one.slowdown for one in of], 2)} | {change} "
            f"| {fmean(one.slowdown_std for one in of):.0f} "
            f"| {_with_interval([one.wait_s / 60 for one in of])} | {fmean(one.wait_std_s for one in of) / 60:.0f} "
            f"| {median(one.pass_ms for one in of):.3f} | {median(one.deciding_ms for one in of):.3f} "
            f"| {fmean(one.total_s for one in of):.1f} | {fmean(one.planned / one.passes for one in of):.0%} "
            f"| {fmean(one.modelled for one in of):.1f} | {fmean(one.solved / one.passes for one in of):.0%} "
            f"| {fmean(one.bettered / one.passes for one in of):.1%} | {fmean(one.by_list for one in of):.0f} "
            f"| {sum(one.stopped for one in of)} |"
        )
    return lines


def tables(rows: Mapping[Key, Row]) -> str:
    """All tables; changes are from each one's first line."""
    return "\n".join("\n".join([*_lines(group), ""]) for group in groups(rows)) + "\n"
