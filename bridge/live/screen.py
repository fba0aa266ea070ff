"""The screen of a run under way: system status and a map of the hosts by their jobs; without a terminal lines of text.

It combines the two monitors of AccaSim (Galleguillos et al., Cluster Computing 23, 2020, sections 4 and 7.2,
doi:10.1007/s10586-019-02905-5). Shades show numbers, also without colours; colours identify jobs.
"""

import sys
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, NamedTuple, TextIO

from rich.console import Console, Group
from rich.live import Live as Display
from rich.text import Text

from bls.machine.platform import MEMORY
from bridge.live.file import FINISHING, STARTING, Live, Look, Pulse, Resource, Setting
from traces.base.time import NS_PER_S, format_ns

#: Okabe and Ito's colours, without black and yellow: distinct for the colour-blind, and on light and dark screens.
_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#D55E00", "#CC79A7", "#0072B2")


class _Marks(NamedTuple):
    """Characters that a terminal can show."""

    shades: str  # shades of a cell: idle, up to a quarter, up to a half, more, full
    down: str
    times: str  # between the names of both levels
    levels: str  # heights in the line of past values, from zero up


_UNICODE, _ASCII = _Marks("·░▒▓█", "×", "×", " ▁▂▃▄▅▆▇█"), _Marks(".-+*#", "x", "x", " .:-=+*%#")


def console_on(stream: TextIO) -> Console:
    """A stream as a console; stderr is looked up for every line, so that warnings are written above the screen."""
    return Console(stderr=True) if stream is sys.stderr else Console(file=stream)


class LiveScreen:
    """Shows a run on a stream: a screen on a terminal, else one line of text per second. ``whole``: use the whole terminal
    and restore it afterwards; else the lines below the cursor."""

    def __init__(self, stream: TextIO, *, whole: bool = False) -> None:
        self._stream, self._console = stream, console_on(stream)
        # A terminal that cannot move the cursor up counts as none.
        self.terminal = stream.isatty() and not self._console.is_dumb_terminal
        self.every_s = 0.25 if self.terminal else 1.0  # shortest time between updates, s
        how: dict[str, Any] = {"transient": True, "auto_refresh": False, "vertical_overflow": "crop"}
        self._display = Display(console=self._console, screen=whole, **how)

    def show(self, live: Live, note: str = "") -> None:
        """Replace the shown state."""
        if not self.terminal:
            print(status_line(live, note), file=self._stream, flush=True)
            return
        self._display.start()
        self._display.update(self._lines(live, note), refresh=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        self._display.stop()

    def leave(self, live: Live, note: str = "") -> None:
        """Write this permanently below the rest."""
        if self.terminal:
            self._console.print(self._lines(live, note))
        else:
            print(status_line(live, note), file=self._stream, flush=True)

    def _lines(self, live: Live, note: str) -> Group:
        # The last column and line stay free, or some terminals scroll.
        width, height = self._console.size
        ascii_only = not (self._stream.encoding or "").lower().startswith("utf")
        return Group(*screen_lines(live, width - 1, height - 1, note=note, ascii_only=ascii_only))


def status_line(live: Live, note: str = "") -> str:
    """The status in one line of plain text."""
    setting, pulse, look = live.setting, live.pulse, live.look
    if setting is None or pulse is None or look is None:
        return f"the run is preparing{'; ' + note if note else ''}"
    shares = (f"{one.name} {_share(n, one.amount):.3f}" for one, n in zip(setting.resources, look.used, strict=True))
    parts = [
        f"simulated {format_ns(pulse.now_ns)}",
        f"{pulse.ended} of {setting.jobs} jobs done, {pulse.running} running, {pulse.waiting} waiting",
        ", ".join(shares),
        _hosts_down(look),
        f"{_span(pulse.elapsed_s)} elapsed, {_rate(pulse.jobs_per_s)} jobs/s",
        "writing the results" if live.phase == FINISHING else "",
        note,
    ]
    return "; ".join(filter(None, parts))


def screen_lines(live: Live, width: int, height: int, *, note: str = "", ascii_only: bool = False) -> list[Text]:
    """The screen: at most ``height`` lines of ``width`` columns; below 40 × 10 it is cut off. ``note``: a further line."""
    marks = _ASCII if ascii_only else _UNICODE
    setting, pulse, look = live.setting, live.pulse, live.look
    noted = [Text(note, "bold")] if note else []
    if setting is None or pulse is None or look is None:
        lines = [Text("the run is preparing"), *noted]
    else:
        lines = [*_status(live, setting, pulse, look, width, marks), *noted]
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
    options, times = setting.options, marks.times
    hosts = f"{setting.hosts:,} host{'s' if setting.hosts > 1 else ''}"
    first = f"{PurePath(setting.workload).name} on {hosts}, {setting.cores:,} cores"
    where = f"process {live.process.pid}" + ("" if live.process.is_here else f" on {live.process.host_name}")
    level = f"{_called(options['bls'])} {times} {_called(options['als'])}, backfilling {options['backfill']}, "
    level += f"{_called(options['allocator'])}, variation {options['variation']}, seed {options['seed']}, {options['coupling']}"
    elapsed = ", ".join(filter(None, (f"elapsed {_span(pulse.elapsed_s)}", _remaining(live, setting, pulse))))
    to_come = max(setting.jobs - pulse.ended - pulse.running - pulse.waiting, 0)
    counts = [f"{pulse.running:,} running", f"{pulse.waiting:,} waiting", f"{to_come:,} to come"]
    counts += [f"{n:,} {state}" for state, n in look.states.items() if state != "completed"]
    bar = max(8, min(40, width - 45))
    done = f"{pulse.ended:,} of {setting.jobs:,} done, {_rate(pulse.jobs_per_s)}/s"
    lines = [
        _both(Text(first, "bold"), where, width),
        Text(level),
        _both(Text("simulated ").append(format_ns(pulse.now_ns), "bold"), elapsed, width),
        Text(f"jobs      {_bar(_share(pulse.ended, setting.jobs), bar, marks)} {done}"),
        Text(f"          {', '.join(filter(None, (*counts, _hosts_down(look))))}"),
    ]
    for resource, used in zip(setting.resources, look.used, strict=True):
        share = _share(used, resource.amount)
        lines.append(Text(f"{resource.name[:9]:<9} {_bar(share, bar, marks)} {share:.3f}  {_amount(resource, used)}"))
    most = max(look.past_waiting, default=0)
    queue = _past(look.past_ns, look.past_waiting, most, bar, marks)
    use = _past(look.past_ns, look.past_busy, setting.cores, bar, marks)
    lines.append(Text(f"queue     {queue} so far, at most {most:,} waiting"))
    return [*lines, Text(f"use       {use} so far, of all cores")]


def _called(plugin: str) -> str:
    # FILE.py:NAME without the folders.
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
    return f"{look.down_hosts:,} host{'s' if look.down_hosts > 1 else ''} down" if look.down_hosts else ""


def _remaining(live: Live, setting: Setting, pulse: Pulse) -> str:
    # From the remaining jobs and the mean rate so far; empty in the first second.
    if live.phase == FINISHING:
        return "writing the results"
    if live.phase == STARTING:
        return "compiling or preparing"
    if not pulse.ended or pulse.elapsed_s < 1 or pulse.ended >= setting.jobs:
        return ""
    return f"about {_span(pulse.elapsed_s * (setting.jobs - pulse.ended) / pulse.ended)} left"


def _both(left: Text, right: str, width: int) -> Text:
    # As much text as fits, with the right part right-aligned.
    return left.append(" " * max(width - left.cell_len - len(right), 2)).append(right, "dim")


def _bar(share: float, width: int, marks: _Marks) -> str:
    # Full only at 1, and empty only at 0.
    n = min(max(round(share * width), int(share > 0)), width - int(share < 1))
    return marks.shades[4] * n + marks.shades[0] * (width - n)


def _past(past_ns: Sequence[int], values: Sequence[int], most: int, width: int, marks: _Marks) -> str:
    # Simulated time runs from left to right; a column shows the largest value in it, or the one before it.
    begin, end = past_ns[0], past_ns[-1]
    columns = [-1] * width
    for instant, value in zip(past_ns, values, strict=True):
        at = (instant - begin) * (width - 1) // (end - begin) if end > begin else width - 1
        columns[at] = max(columns[at], value)
    last, text = 0, ""
    for column in columns:
        last = column if column >= 0 else last
        text += marks.levels[0 if most == 0 or last == 0 else 1 + last * (len(marks.levels) - 2) // most]
    return text


def _rows_of_hosts(setting: Setting) -> bool:
    # Whether each host gets its own line: it has several cells, or is the only one.
    return len(setting.cells.host) > setting.hosts or setting.hosts == 1


def _widths(setting: Setting, width: int) -> tuple[int, int]:
    # Widths of the labels and of the map.
    label = max(len(str(setting.hosts - 1)), 3)
    return label, max(width - label - 1, 8)


def _rooms(room: int, setting: Setting, look: Look, width: int) -> tuple[int, int]:
    # Lines for the map and for the list of jobs: each gets what it needs, if the other has enough.
    wanted = setting.hosts if _rows_of_hosts(setting) else -(-len(setting.cells.host) // _widths(setting, width)[1])
    for_map, for_list = 1 + wanted, 1 + len(look.widest)
    if for_map + for_list > room:
        for_map = max(min(for_map, room - for_list), min(for_map, room * 3 // 5), 3)
    return for_map, room - for_map


def _map(setting: Setting, look: Look, width: int, room: int, marks: _Marks) -> list[Text]:
    host, core = setting.cells.host, setting.cells.first_core
    line_each = _rows_of_hosts(setting) and setting.hosts < room
    label, each = _widths(setting, width)
    if line_each:
        title, together = "hosts, one per line", 1
        starts = [k for k in range(len(host)) if k == 0 or host[k] != host[k - 1]]
    else:
        together = -(-len(host) // (each * (room - 1)))
        hosts_each = (host[1] - host[0] if len(host) > 1 else 1) * together
        title = f"hosts, {together} cells" if len(host) > setting.hosts else f"hosts, {hosts_each} per cell"
        starts = list(range(0, len(host), each * together))
    names = ("idle", "to 1/4", "to 1/2", "more", "full")
    legend = " ".join(f"{mark} {name}" for mark, name in zip(marks.shades, names, strict=True))
    found = [_both(Text(title, "bold"), f"{legend} {marks.down} down", width)]
    for begin, stop in zip(starts, [*starts[1:], len(host)], strict=True):
        line = Text(f"{host[begin]:>{label}} ", "dim")
        for first in range(begin, stop, together):
            line.append(*_cell(look, core, first, min(first + together, stop), marks))
        if line_each:
            line.append(f" {sum(look.busy[begin:stop]):,}/{core[stop] - core[begin]:,}", "not dim")
        found.append(line)
    return found


def _cell(look: Look, core: Sequence[int], first: int, after: int, marks: _Marks) -> tuple[str, str]:
    # The character of the cells first … after - 1, and its style.
    busy, down = sum(look.busy[first:after]), sum(look.down[first:after])
    up = core[after] - core[first] - down
    if up == 0:
        return marks.down, "not dim bold"
    if busy == 0:
        return marks.shades[0], "dim"
    shade = 4 if busy >= up else 1 if 4 * busy <= up else 2 if 2 * busy <= up else 3
    fullest = max(range(first, after), key=lambda k: (look.busy[k], -k))
    return marks.shades[shade], f"not dim {_colour(look.job[fullest])}"


def _colour(job: int) -> str:
    return _COLOURS[job % len(_COLOURS)] if job >= 0 else ""


def _jobs(look: Look, pulse: Pulse, width: int, room: int, marks: _Marks) -> list[Text]:
    listed = look.widest[: room - 1]
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
        found.append(line.append(f" {share:.2f}"))
    return found
