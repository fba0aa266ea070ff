"""The tables of ``docs/reference/constraint-programming.md`` that the rows of the study make (``tools.dispatch_study page``).

Each shows means of samples; how many stands behind in brackets where they are not five, and ``–`` where there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, median
from typing import Final, NamedTuple, TypeAlias

from tools.dispatch_tables import Key, Row
from tools.estimates_study import changes, interval

__all__ = ["parts"]

#: So many samples are the rule, and are not said.
_SAMPLES: Final = 5


class Days(NamedTuple):
    """Days of a log, on as many cores as its header names; or jobs on a stand-in."""

    log: str
    select: str
    load: str = "1"
    machine: str = "pool"


KTH, NASA, HPC2N = "KTH-SP2-1996-2.1-cln", "NASA-iPSC-1993-3.1-cln", "HPC2N-2002-2.2-cln"
THUNDER, CURIE = "LLNL-Thunder-2007-1.1-cln", "CEA-Curie-2011-2.1-cln"

#: Columns of the tables of rules, and of what a solver adds.
LONG: Final = {
    "KTH-SP2-1996, busiest 3 days": Days(KTH, "busiest:3d"),
    "NASA-iPSC-1993, busiest 3 days, load × 2": Days(NASA, "busiest:3d", "2"),
    "HPC2N-2002, busiest 7 days": Days(HPC2N, "busiest:7d"),
    "LLNL-Thunder-2007, busiest day, load × 1.6": Days(THUNDER, "busiest:1d", "1.6"),
    "CEA-Curie-2011, 3 days (`window:11697h+3d`)": Days(CURIE, "window:11697h+3d"),
}
SHORT: Final = {
    "KTH, 3 days": LONG["KTH-SP2-1996, busiest 3 days"],
    "NASA, 12 h, load × 2": Days(NASA, "busiest:12h", "2"),
    "HPC2N, 2 days (`window:25000h+2d`)": Days(HPC2N, "window:25000h+2d"),
    "Thunder, 12 h, load × 1.6": Days(THUNDER, "busiest:12h", "1.6"),
    "Curie, 1 day (`window:11721h+1d`)": Days(CURIE, "window:11721h+1d"),
}

#: Dispatchers, as the page calls them.
RULES: Final = {
    "fcfs, EASY": "fcfs+easy",
    "fcfs, conservative": "fcfs+conservative",
    "by slowdown, EASY": "slowdown+easy",
    "sjf, EASY": "sjf+easy",
    "saf, EASY": "saf+easy",
    "one list alone, by the ranking": "list-ranking",
    "the lists alone": "list",
}
PLANS: Final = {"CP, `all`": "hcp19-all", "CP, `fits`": "hcp19-fits"}
WARM: Final = {"the lists alone, `warm`": "list-warm"}
LISTS: Final = {"the lists alone": "list", "`lns`, 200 lists": "lns", "`lns`, 1,000 lists": "lns-1000"}
TIMED: Final = {"the lists alone": "list", **PLANS}

#: What the issue that asked for the study said of the mean slowdown of HPC2N's busiest 30 days, on 240 and 256 cores: one
#: run each, of a prototype.
PROTOTYPE: Final = {
    "fcfs+easy": (98.8, 78.0),
    "slowdown+easy": (30.3, 22.6),
    "sjf+easy": (24.6, 26.5),
    "saf+easy": (21.8, 19.4),
    "list-ranking": (19.2, 23.2),
    "hcp19-all": (18.6, 26.7),
    "hcp19-fits": (39.1, 42.0),
}
#: Whose decisions cost time in the table of that.
CHARGED: Final = ("fcfs+easy", "saf+easy", "list", "hcp19-all")

MONTH, SIZES = Days(HPC2N, "busiest:30d"), (240, 256)

EURORA, KIT = Days(HPC2N, "first:2000", "0.5", "eurora"), Days(THUNDER, "busiest:1d", "1", "forhlr")
#: The paper's names of estimates.
PREDICTED: Final = {"L2": "last-two", "D": "profile", "R": "exact"}

Rows: TypeAlias = Mapping[Key, Row]
Samples: TypeAlias = dict[int, Row]


def samples(rows: Rows, days: Days, dispatcher: str, charged: str = "0", estimates: str = "exact") -> Samples:
    """The shaken samples of a dispatcher, by number."""
    asked = (days.machine, days.log, days.load, days.select, estimates, charged, dispatcher)
    return {
        key.sample: row
        for key, row in sorted(rows.items(), key=lambda item: item[0].sample)
        if (key.machine, key.log, key.load, key.select, key.estimates, key.charged, key.dispatcher) == asked
        and key.sample > 0
    }


def _count(of: Samples) -> str:
    return f" ({len(of)})" if len(of) != _SAMPLES else ""


def _mean(of: Samples, value: Callable[[Row], float], digits: int = 1) -> str:
    if not of:
        return "–"
    mean, half = interval([value(one) for one in of.values()])
    return f"{mean:.{digits}f}" + (f" ± {half:.{digits}f}" if len(of) > 1 else "") + _count(of)


def _change(of: Samples, before: Samples) -> str:
    both = sorted(of.keys() & before.keys())
    if not both:
        return "–"
    return changes([of[k].slowdown for k in both], [before[k].slowdown for k in both])


def _line(head: str, cells: Iterable[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def _table(heads: Sequence[str], lines: Iterable[str]) -> list[str]:
    # Who has no samples in any column has no line.
    shown = (line for line in lines if set(line.split(" | ")[1:]) - {"–", "– |"})
    return [_line(heads[0], heads[1:]), "|" + "---|" * len(heads), *shown]


def rules(rows: Rows) -> list[str]:
    """Mean slowdowns of rules and lists on five logs; and waits of some."""
    waits = ("fcfs, EASY", "saf, EASY", "the lists alone")

    def line(head: str, cell: Callable[[Days], str]) -> str:
        return _line(head, map(cell, LONG.values()))

    def means(one: str, value: Callable[[Row], float], digits: int = 1) -> Callable[[Days], str]:
        return lambda days: _mean(samples(rows, days, one), value, digits)

    return _table(
        ["", *LONG],
        [
            *(line(name, means(one, lambda row: row.slowdown)) for name, one in RULES.items()),
            *(line(f"{name}: mean wait, min", means(RULES[name], lambda row: row.wait_s / 60, 0)) for name in waits),
        ],
    )


def plans(rows: Rows) -> list[str]:
    """What a solver adds to its list, in shorter windows."""
    shown = RULES | PLANS | WARM
    found = {(name, one): samples(rows, days, one) for name, days in SHORT.items() for one in shown.values()}

    def line(head: str, cell: Callable[[str], str]) -> str:
        return _line(head, map(cell, SHORT))

    def means(one: str) -> Callable[[str], str]:
        return lambda name: _mean(found[name, one], lambda row: row.slowdown)

    def change(one: str) -> Callable[[str], str]:
        return lambda name: _change(found[name, one], found[name, "list"])

    def share(one: str, value: Callable[[Row], float], digits: int) -> Callable[[str], str]:
        def cell(name: str) -> str:
            of = found[name, one].values()
            return f"{fmean(value(each) / each.passes for each in of):.{digits}%}" if of else "–"

        return cell

    def times(one: str) -> Callable[[str], str]:
        def cell(name: str) -> str:
            of = found[name, one].values()
            if not of:
                return "–"
            return f"{median(each.pass_ms for each in of):.1f}; {median(each.deciding_ms for each in of):.1f}"

        return cell

    return _table(
        ["mean slowdown", *SHORT],
        [
            *(line(name, means(one)) for name, one in shown.items()),
            *(line(f"{name}: change from the lists", change(one)) for name, one in (PLANS | WARM).items()),
            line("passes with a solve, `all`", share("hcp19-all", lambda row: row.solved, 0)),
            line("and a better plan than the list's", share("hcp19-all", lambda row: row.bettered, 1)),
            *(line(f"{name}: ms a pass; of those with something to plan", times(TIMED[name])) for name in TIMED),
        ],
    )


def neighbourhoods(rows: Rows) -> list[str]:
    """Slowdowns of large neighbourhoods beside those of the lists, sample by sample."""
    numbers = range(1, _SAMPLES + 1)
    lines = []
    for name, one in LISTS.items():
        of = samples(rows, LONG["KTH-SP2-1996, busiest 3 days"], one)
        cells = [f"{of[number].slowdown:.1f}" if number in of else "–" for number in numbers]
        cells += [_mean(of, lambda row: row.slowdown), _mean(of, lambda row: row.wait_s / 60)]
        lines.append(_line(name, [*cells, f"{median(row.deciding_ms for row in of.values()):.1f}" if of else "–"]))
    heads = (f"sample {number}" for number in numbers)
    return _table(["mean slowdown", *heads, "mean", "mean wait, min", "ms of a pass with something to plan"], lines)


def charged(rows: Rows) -> list[str]:
    """How much longer jobs wait on the mean where decisions cost time, and how slowdowns change, sample by sample."""
    days = {name.partition(",")[0]: on for name, on in SHORT.items()}
    shown = {name: one for name, one in (RULES | PLANS).items() if one in CHARGED}

    def cell(of: Samples, free: Samples) -> str:
        both = sorted(of.keys() & free.keys())
        if not both:
            return "–"
        mean, half = interval([of[k].wait_s - free[k].wait_s for k in both])
        longer = f"{mean:.2f}" + (f" ± {half:.2f}" if len(both) > 1 else "") + " s"
        return f"{longer}; {_change(of, free)}{_count(of)}".replace("-", "−")

    return _table(
        ["", "as measured here", "0.5 s a decision", "16 s a decision"],
        [
            _line(
                f"{log}, {name}",
                [cell(samples(rows, on, one, cost), samples(rows, on, one)) for cost in ("measured", "500ms", "16s")],
            )
            for log, on in days.items()
            for name, one in shown.items()
        ],
    )


def month(rows: Rows) -> list[str]:
    """HPC2N's busiest 30 days on two numbers of cores, beside what a prototype did."""
    heads = [f"{size} cores: {what}" for size in SIZES for what in ("prototype", "the log itself", "shaken")]
    lines = []
    for name, one in (RULES | PLANS).items():
        cells: list[str] = []
        for size, said in zip(SIZES, PROTOTYPE.get(one, ("–", "–")), strict=True):
            on = MONTH._replace(machine=f"pool of {size}")
            itself = rows.get(Key(on.machine, on.log, on.load, on.select, "exact", "0", 0, one))
            cells += [str(said), f"{itself.slowdown:.1f}" if itself else "–"]
            cells.append(_mean(samples(rows, on, one), lambda row: row.slowdown))
        lines.append(_line(name, cells))
    return _table(["mean slowdown", *heads], lines)


def stand_in(rows: Rows, days: Days) -> list[str]:
    """A stand-in's jobs under each dispatcher and estimates: means of samples ± standard deviations of jobs."""
    asked = {
        f"{model}-{short}": (f"{model}-fits", estimates)
        for model in ("hcp19", "pcp19", "pcp20")
        for short, estimates in PREDICTED.items()
    }
    asked |= {name: (RULES[name], "exact") for name in ("fcfs, EASY", "fcfs, conservative", "saf, EASY")}
    asked["the lists of `pcp20` alone, `all`"] = ("list-boxes", "exact")
    lines = []
    for name, (one, estimates) in asked.items():
        of = samples(rows, days, one, estimates=estimates).values()
        if of:
            cells = [
                str(len(of)),
                f"{median(row.pass_ms for row in of):.1f}",
                f"{median(row.deciding_ms for row in of):.1f}",
                f"{fmean(row.total_s for row in of):.0f} s",
                *(
                    f"{fmean(mean / unit for mean, _ in two):.{digits}f} ± {fmean(std / unit for _, std in two):.0f}{end}"
                    for two, unit, digits, end in (
                        ([(row.slowdown, row.slowdown_std) for row in of], 1, 1, ""),
                        ([(row.wait_s, row.wait_std_s) for row in of], 60, 1, " min"),
                    )
                ),
            ]
            lines.append(_line(name, cells))
    return _table(
        ["", "samples", "ms a pass, all", "with something to plan", "deciding in all", "slowdown", "wait"], lines
    )


def parts(rows: Rows) -> dict[str, list[str]]:
    """All tables, by the names of the page's generated parts."""
    return {
        "rules": rules(rows),
        "plans": plans(rows),
        "lns": neighbourhoods(rows),
        "charged": charged(rows),
        "month": month(rows),
        "eurora": stand_in(rows, EURORA),
        "kit": stand_in(rows, KIT),
    }
