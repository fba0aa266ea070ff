"""Watching a run from another process: find it by the folder of its results, and follow it to its end."""

import glob
import json
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from bls.options import STREAM
from bridge.encoding import to_builtins
from bridge.live.file import FILE, Live, read_live
from bridge.live.screen import LiveScreen
from bridge.options.declared import OUT
from bridge.runs.directory import metric, read_record
from traces.base.errors import InputError
from traces.base.given_file import parsing
from traces.base.time import format_ns

#: States of a run: in progress; results exist; its process is gone; it has removed its folder.
UNDER_WAY, ENDED, DIED, STOPPED = "under way", "ended", "died", "stopped"
_SILENT_S = 5.0  # time without updates after which a run is reported as silent, s
_JSON_EVERY_S = 1.0  # interval between samples in JSON, s
_NOTHING = 0, 0


@dataclass(frozen=True)
class Found:
    """A run: its state, ``UNDER_WAY``, ``ENDED``, ``DIED`` or ``STOPPED``; the folder in which it writes or wrote its
    results; and its latest content of ``live.json``, None once it has ended."""

    state: str
    folder: Path
    live: Live | None = None


def _partial_folders(target: Path) -> list[Path]:
    # Names are from bridge.runs.directory.fresh_directory; the latest is last.
    target, aged = target.absolute(), []
    for path in target.parent.glob(f".{glob.escape(target.name)}.partial-*"):
        with suppress(OSError):  # it has just been renamed or removed
            aged.append((path.stat().st_ctime_ns, path))
    return [path for _, path in sorted(aged)]


def find_run(target: Path) -> Found | None:
    """The run whose results are called ``target``: the one under way, or else the last one. Raises InputError if its
    ``live.json`` cannot be read."""
    died: Found | None = None
    for folder in reversed(_partial_folders(target)):
        live = read_live(folder)
        if live is None:
            continue  # a run that is about to end
        if not live.process.is_gone():
            return Found(UNDER_WAY, folder, live)
        if died is None:
            died = Found(DIED, folder, live)
    ended = _identity(target / "run.json")
    if ended != _NOTHING and (died is None or ended[0] > _identity(died.folder / FILE)[0]):
        return Found(ENDED, target)
    return died


def _identity(path: Path) -> tuple[int, int]:
    # Time of the last change, ns, and inode of the file: they differ once it is replaced; zeros without a file.
    try:
        status = path.stat()
    except OSError:
        return _NOTHING
    return status.st_mtime_ns, status.st_ino


def _final(found: Found, target: Path) -> str:
    # Final message about a run that is not under way.
    if found.state == ENDED:
        record = read_record(target)
        jobs, makespan_ns, used = (metric(record, name) for name in ("jobs", "makespan_ns", "utilisation"))
        said = [] if jobs is None else [f"{jobs} jobs"]
        if makespan_ns is not None:
            said.append(f"makespan {format_ns(makespan_ns)}")
        if used is not None:
            said.append(f"utilisation {used:.4f}")
        return f"the run has ended: {', '.join([*said, f'results: {target}'])}"
    if found.state == STOPPED:
        return "the run has stopped without results: it failed, or was interrupted"
    live = found.live
    assert live is not None
    return f"the run has died: process {live.process.pid} is gone; it left {found.folder}"


def _silence(live: Live, now_s: float) -> str:
    silent_s = now_s - live.written_s
    if silent_s < _SILENT_S:
        return ""
    where = "" if live.process.is_here else f"; it ran on {live.process.host_name}, and may be gone"
    return f"no sign of life for {format_ns(round(silent_s * 1e9))}{where}"


def _as_json(found: Found, target: Path) -> str:
    shown: dict[str, Any] = {"state": found.state}
    if found.state == ENDED:
        shown |= {"results": str(target), "metrics": read_record(target).get("metrics", {})}
    elif found.live is not None:
        shown |= {"folder": str(found.folder), **to_builtins(found.live)}
    return json.dumps(shown, ensure_ascii=False, separators=(",", ":"))  # numbers in a record may have any length


def watch_run(
    target: Path,
    *,
    once: bool = False,
    as_json: bool = False,
    stream: TextIO | None = None,
    sleep: Callable[[float], object] = time.sleep,
    wall_clock: Callable[[], float] = time.time,
) -> int:
    """Show a run, whose results are called ``target``, until it ends: a screen on a terminal ``stream``, else a line a second.

    - ``once``: show one sample and return.
    - ``as_json``: one line of JSON per sample.
    - ``sleep``, ``wall_clock``: wait some seconds; seconds since 1970.

    Returns the exit code of the command: 0 if the run has ended or is under way, 1 if it died or stopped without results.
    Raises InputError if there is no such run, or it cannot be read.
    """
    stream = sys.stdout if stream is None else stream
    before = _identity(target / "run.json")
    found = find_run(target)
    if found is None:
        raise InputError(f"{target}: {_nothing(target)}")
    screen = LiveScreen(stream, whole=True)
    last = found.live
    try:
        while found.state == UNDER_WAY and found.live is not None:
            last = found.live
            note = _silence(last, wall_clock())
            with _read(found):
                if as_json:
                    print(_as_json(found, target), file=stream, flush=True)
                elif once:
                    screen.leave(last, note)
                else:
                    screen.show(last, note)
            if once:
                return 0
            sleep(_JSON_EVERY_S if as_json else screen.every_s)
            found = _again(found, target, before)
    except KeyboardInterrupt:  # the normal way to leave
        return 0
    finally:
        screen.close()
    if as_json:
        print(_as_json(found, target), file=stream, flush=True)
    else:
        if last is not None:
            with _read(found):
                screen.leave(last)
        print(_final(found, target), file=stream, flush=True)
    return 0 if found.state == ENDED else 1


def _read(found: Found) -> AbstractContextManager[None]:
    # The text may come from another program: numbers may be out of range or contradict each other.
    return parsing("state of a run", str(found.folder / FILE))


def _again(found: Found, target: Path, before: tuple[int, int]) -> Found:
    # The present state of a run that was under way.
    live = read_live(found.folder)
    known = live or found.live
    assert known is not None  # it has changed since it was under way
    if live is not None or found.folder.exists():  # live.json is removed just before the folder is renamed
        return Found(DIED if known.process.is_gone() else UNDER_WAY, found.folder, known)
    if _identity(target / "run.json") not in (before, _NOTHING):
        return Found(ENDED, target)
    return Found(STOPPED, found.folder, known)


def _nothing(target: Path) -> str:
    if (target / "study.json").is_file():
        return "is the result of a study; only runs can be watched"
    if _partial_folders(target):
        return f"the run that is, or was, making it cannot be watched; allowed: a twolevel run without {STREAM}"
    if target.is_dir():
        return "is not a result of twolevel run, and no run is making one there"
    return f"there are no results, and no run is making them; allowed: the {OUT} of a run that has begun"
