"""A run under way in lines of text: the status of the system, and a map of its hosts by the jobs that run on them.

These are the two monitors of AccaSim in one (Galleguillos et al., Cluster Computing 23, 2020, sections 4 and 7.2,
doi:10.1007/s10586-019-02905-5). Shades carry the numbers, so that nothing is lost without colours; a colour tells jobs apart,
on the map as in the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

from rich.text import Text

from bls.machine.resource_amounts import MEMORY
from bridge.live.file import FINISHING, STARTING, Live
from bridge.live.state import Look, Pulse, Resource, RunningJob, Setting
from traces.base.time import NS_PER_S, format_ns

__all__ = ["screen_lines", "status_line"]

#: Okabe and Ito's colours, without black and yellow: told apart by the colour-blind, and on light and dark screens.
_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#0072B2")


@dataclass(frozen=True)
class _Marks:
    """The characters that a terminal can show."""

    shades: str  # idle, up to a quarter, a half, less than all, all of a cell held
    down: str
    levels: str  # of a line of the past, from nothing up
    full: str
    empty: str
    dot: str
    times: str


_UNICODE = _Marks("·░▒▓█", "×", " ▁▂▃▄▅▆▇█", "█", "·", "·", "×")
_ASCII = _Marks(".-+*#", "x", " .:-=+*%#", "#", ".", "-", "x")


def _colour(job: int) -> str:
    return _COLOURS[job % len(_COLOURS)] if job >= 0 else ""


def _called(plugin: str) -> str:
    # Of FILE.py:NAME without the folders.
    return plugin.rpartition("/")[2] if ".py:" in plugin else plugin


def _span(seconds: float) -> str:
    return format_ns(round(seconds * NS_PER_S))


def _rate(per_s: float) -> str:
    return f"{per_s:,.0f}" if per_s >= 10 else f"{per_s:.2g}"


def _amount(resource: Resource, used: int) -> str:
    if resource.name == MEMORY:
        return f"{used / 2**20:,.1f} of {resource.amount / 2**20:,.1f} GB"
    return f"{used:,} of {resource.amount:,}"


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _hosts_down(look: Look) -> str:
    return f"{look.down_hosts:,} host{'s' if look.down_hosts > 1 else ''} down"


def _bar(share: float, width: int, marks: _Marks) -> str:
    # Full only where it is, and empty only where it is.
    n = round(share * width)
    if share > 0:
        n = max(n, 1)
    if share < 1:
        n = min(n, width - 1)
    n = min(n, width)
    return marks.full * n + marks.empty * (width - n)


def _left_s(setting: Setting, pulse: Pulse) -> float | None:
    # By the jobs that are left, at the mean rate so far; nothing is said in the first second.
    if not pulse.ended or pulse.elapsed_s < 1 or pulse.ended >= setting.jobs:
        return None
    return pulse.elapsed_s * (setting.jobs - pulse.ended) / pulse.ended


def status_line(live: Live, note: str = "") -> str:
    """The status in one line of plain text."""
    setting, pulse, look = live.setting, live.pulse, live.look
    if setting is None or pulse is None or look is None:
        return f"the run prepares{'; ' + note if note else ''}"
    parts = [
        f"simulated {format_ns(pulse.now_ns)}",
        f"{pulse.ended} of {setting.jobs} jobs done, {pulse.running} running, {pulse.waiting} waiting",
        ", ".join(
            f"{resource.name} {_share(used, resource.amount):.3f}"
            for resource, used in zip(setting.resources, look.used, strict=True)
        ),
    ]
    if look.down_hosts:
        parts.append(_hosts_down(look))
    parts.append(f"{_span(pulse.elapsed_s)} elapsed, {_rate(pulse.jobs_per_s)} jobs/s")
    if live.phase == FINISHING:
        parts.append("the results are being written")
    return "; ".join([*parts, note] if note else parts)


def screen_lines(
    live: Live, width: int = 80, height: int = 24, *, note: str = "", ascii_only: bool = False
) -> list[Text]:
    """The screen: at most ``height`` lines of at most ``width`` columns.

    Parameters
    ----------
    live : Live
        What the run shows of itself.
    width, height : int
        Of the screen; below 40 × 10 it is cut off.
    note : str
        What else there is to say, as that the run has died; in a line of its own.
    ascii_only : bool
        For a terminal that shows no other characters.
    """
    marks = _ASCII if ascii_only else _UNICODE
    setting, pulse, look = live.setting, live.pulse, live.look
    if setting is None or pulse is None or look is None:
        lines = [Text("the run prepares"), Text(note, "bold")][: 2 if note else 1]
    else:
        lines = _status(live, setting, pulse, look, width, marks)
        if note:
            lines.append(Text(note, "bold"))
        room = height - len(lines)
        if room >= 3:
            map_room, list_room = _rooms(room, setting, look, width)
            lines += _map(setting, look, width, map_room, marks)
            if list_room >= 3:
                lines += _jobs(look, pulse, width, list_room, marks)
    for line in lines:
        line.no_wrap, line.overflow = True, "crop"
        line.truncate(max(width, 1))
    return lines[:height]


def _status(live: Live, setting: Setting, pulse: Pulse, look: Look, width: int, marks: _Marks) -> list[Text]:
    options = setting.options
    name = PurePath(setting.workload).name
    first = f"{name} on {setting.hosts:,} host{'s' if setting.hosts > 1 else ''}, {setting.cores:,} cores"
    where = f"process {live.process.pid}" + ("" if live.process.is_here else f" on {live.process.host_name}")
    level = [
        f"{_called(options['bls'])} {marks.times} {_called(options['als'])}",
        f"backfilling {options['backfill']}",
        _called(options["allocator"]),
    ]
    level += [f"variation {options['variation']}", f"seed {options['seed']}", options["coupling"]]
    speed = f"{_rate(pulse.simulated_per_s)} {marks.times} real time"
    times = [f"elapsed {_span(pulse.elapsed_s)}"]
    left_s = _left_s(setting, pulse)
    if live.phase == FINISHING:
        times.append("writing the results")
    elif live.phase == STARTING:
        times.append("compiling or preparing")
    elif left_s is not None:
        times.append(f"about {_span(left_s)} left")
    to_come = setting.jobs - pulse.ended - pulse.running - pulse.waiting
    counts = [f"{pulse.running:,} running", f"{pulse.waiting:,} waiting", f"{max(to_come, 0):,} to come"]
    counts += [f"{n:,} {state}" for state, n in look.states.items() if state != "completed"]
    if look.down_hosts:
        counts.append(_hosts_down(look))
    bar = max(8, min(40, width - 45))
    done = f"{pulse.ended:,} of {setting.jobs:,} done, {_rate(pulse.jobs_per_s)}/s"
    lines = [
        _both(Text(first, "bold"), where, width),
        Text(", ".join(level)),
        _both(Text("simulated ").append(format_ns(pulse.now_ns), "bold").append(f"  {speed}"), ", ".join(times), width),
        Text(f"jobs      {_bar(_share(pulse.ended, setting.jobs), bar, marks)} {done}"),
        Text(f"          {', '.join(counts)}"),
    ]
    for resource, used in zip(setting.resources, look.used, strict=True):
        share = _share(used, resource.amount)
        text = f"{resource.name[:9].ljust(9)} {_bar(share, bar, marks)} {share:.3f}  {_amount(resource, used)}"
        lines.append(Text(text))
    lines.append(_past("queue", look, look.past_waiting, max(look.past_waiting, default=0), bar, marks))
    lines.append(_past("use", look, look.past_busy, setting.cores, bar, marks))
    return lines


def _both(left: Text, right: str, width: int) -> Text:
    # As much as there is room for, the right end at the right.
    gap = width - left.cell_len - len(right)
    return left.append(" " * max(gap, 2)).append(right, "dim")


def _past(name: str, look: Look, values: Sequence[int], most: int, width: int, marks: _Marks) -> Text:
    # Simulated time goes from left to right; a column shows the largest value that was seen in it.
    begin, end = look.past_ns[0], look.past_ns[-1]
    columns = [-1] * width
    for instant, value in zip(look.past_ns, values, strict=True):
        at = (instant - begin) * (width - 1) // (end - begin) if end > begin else width - 1
        columns[at] = max(columns[at], value)
    last, text = 0, ""
    for column in columns:
        last = column if column >= 0 else last
        level = 0 if most == 0 or last == 0 else 1 + last * (len(marks.levels) - 2) // most
        text += marks.levels[level]
    said = f"so far, at most {most:,} waiting" if name == "queue" else "so far, of all cores"
    return Text(f"{name.ljust(9)} {text} {said}")


def _rows_of_hosts(setting: Setting) -> bool:
    # Whether a host has several cells, or is the only one: then it has a line of its own.
    return len(setting.cells.host) > setting.hosts or setting.hosts == 1


def _label_width(setting: Setting) -> int:
    return max(len(str(setting.hosts - 1)), 3)


def _map_width(setting: Setting, width: int) -> int:
    return max(width - _label_width(setting) - 1, 8)


def _rooms(room: int, setting: Setting, look: Look, width: int) -> tuple[int, int]:
    # Lines for the map and for the list of jobs: to each what it needs, if the other leaves so much.
    wanted = setting.hosts if _rows_of_hosts(setting) else -(-len(setting.cells.host) // _map_width(setting, width))
    for_map = 1 + wanted
    for_list = 1 + len(look.widest)
    if for_map + for_list > room:
        for_map = max(min(for_map, room - for_list), min(for_map, room * 3 // 5), 3)
    return for_map, room - for_map


def _map(setting: Setting, look: Look, width: int, room: int, marks: _Marks) -> list[Text]:
    host, core = setting.cells.host, setting.cells.first_core
    lines = room - 1
    if _rows_of_hosts(setting) and setting.hosts <= lines:
        title = "hosts, a line each"
        starts = [k for k in range(len(host)) if k == 0 or host[k] != host[k - 1]]
        together = 1
    else:
        each = _map_width(setting, width)
        together = -(-len(host) // (each * lines))
        a_cell = f"{together} cells" if len(host) > setting.hosts else _hosts_of_a_cell(setting, together)
        title = f"hosts, {a_cell}"
        starts = list(range(0, len(host), each * together))
    names = ("idle", "to 1/4", "to 1/2", "more", "full")
    legend = " ".join(f"{mark} {name}" for mark, name in zip(marks.shades, names, strict=True))
    found = [_both(Text(title, "bold"), f"{legend} {marks.down} down", width)]
    for begin, stop in zip(starts, [*starts[1:], len(host)], strict=True):
        line = Text(f"{host[begin]:>{_label_width(setting)}} ", "dim")
        for first in range(begin, stop, together):
            after = min(first + together, stop)
            line.append(*_cell(look, core, first, after, marks))
        if together == 1 and _rows_of_hosts(setting) and setting.hosts <= lines:
            line.append(f" {sum(look.busy[begin:stop]):,}/{core[stop] - core[begin]:,}", "not dim")
        found.append(line)
    return found


def _hosts_of_a_cell(setting: Setting, together: int) -> str:
    hosts = setting.cells.host
    each = (hosts[1] - hosts[0] if len(hosts) > 1 else 1) * together
    return f"{each} a cell"


def _cell(look: Look, core: Sequence[int], first: int, after: int, marks: _Marks) -> tuple[str, str]:
    # The mark of the cells first … after - 1, and its style.
    cores = core[after] - core[first]
    busy, down = sum(look.busy[first:after]), sum(look.down[first:after])
    if down == cores:
        return marks.down, "not dim bold"
    if busy == 0:
        return marks.shades[0], "dim"
    up = cores - down
    shade = 4 if busy >= up else 1 if 4 * busy <= up else 2 if 2 * busy <= up else 3
    fullest = max(range(first, after), key=lambda k: (look.busy[k], -k))
    return marks.shades[shade], f"not dim {_colour(look.job[fullest])}"


def _jobs(look: Look, pulse: Pulse, width: int, room: int, marks: _Marks) -> list[Text]:
    listed: Sequence[RunningJob] = look.widest[: room - 1]
    if not listed:
        return []
    title = "widest running" if max(pulse.running, len(look.widest)) > len(listed) else "running"
    bar = max(6, min(24, width - 52))
    found = [Text(f"{title:<15}{'cores':>9}{'user':>7}  {'since':<13}of its estimate", "bold")]
    for job in listed:
        ran_ns = look.now_ns - job.start_ns
        share = _share(ran_ns, job.estimate_ns)
        user = str(job.user) if job.user >= 0 else "-"
        line = Text(f"{'job ' + str(job.job_id):<15}{job.cores:>9,}{user:>7}  {format_ns(ran_ns):<13}")
        line.append(_bar(min(share, 1.0), bar, marks), _colour(job.job_id))
        line.append(f" {share:.2f}")
        found.append(line)
    return found
