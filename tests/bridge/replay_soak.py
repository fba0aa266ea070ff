"""Replays that are killed at any instant: ``python tests/bridge/replay_soak.py [TIMES [SEED]]``, as ``make soak`` does.

The same replay is begun so many times, and each is killed (``kill -9``) at a random instant from the one on at which it has
made its hidden folder, within the time that an undisturbed one takes from there; the next one begins anew at the same place.
No process may be left of one, none of its sockets, and none may have been of a network; what has not finished has no name; and
the one that is left alone at last writes what the undisturbed one wrote.
"""

from __future__ import annotations

import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

__all__ = ["known_sockets", "main", "sockets_of", "soak", "started_by"]

_TIMES = 20
_WORDS = ("replay", "sample", "--select", "first:60")
_GONE_S = 30.0
_LOOK_S = 0.02

#: In the environment of all that a replay starts.
_PARENT = "TWOLEVEL_REPLAY_PARENT"


def _begun(folder: Path) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "bridge.cli", *_WORDS, "--out", "r"]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _makes_folder(folder: Path, running: subprocess.Popen[bytes]) -> None:
    # Until it does; before it has nothing that it could leave behind.
    before = set(folder.iterdir())
    while running.poll() is None and set(folder.iterdir()) == before:
        time.sleep(_LOOK_S)


def started_by(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            environment = (path / "environ").read_bytes().split(b"\0")
        except OSError:  # it has gone, or is somebody else's
            continue
        if f"{_PARENT}={pid}".encode() in environment:
            found.append(int(path.name))
    return found


def sockets_of(pids: Iterable[int]) -> set[str]:
    found = set()
    for pid in pids:
        try:
            targets = [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
        except OSError:
            continue
        found |= {target[8:-1] for target in targets if target.startswith("socket:[")}
    return found


def known_sockets(*tables: str) -> set[str]:
    """The inodes of all sockets in tables of the kernel."""
    column = {"unix": 6}
    found = set()
    for table in tables:
        lines = Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:]
        found |= {line.split()[column.get(table, 9)] for line in lines}
    return found


def _digest(folder: Path) -> str:
    files = sorted(
        path for path in folder.rglob("*") if path.is_file() and path.name != "run.json"
    )  # which has times in it
    whole = hashlib.sha256()
    for path in files:
        whole.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"replay_soak: {what}")


def _killed(folder: Path, after_s: float) -> tuple[int, int]:
    # How many processes and sockets there were at the end.
    running = _begun(folder)
    _makes_folder(folder, running)
    time.sleep(after_s)
    others = started_by(running.pid)
    sockets = sockets_of([running.pid, *others])
    _require(not sockets & known_sockets("tcp", "tcp6", "udp", "udp6"), "a socket of a network")
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    until = time.monotonic() + _GONE_S
    while left := started_by(running.pid):
        _require(time.monotonic() < until, f"killed after {after_s:.2f} s: processes {left} are left")
        time.sleep(_LOOK_S)
    _require(not sockets & known_sockets("unix"), f"killed after {after_s:.2f} s: sockets are left")
    return len(others), len(sockets)


def soak(times: int, seed: int, folder: Path) -> str:
    """Kill so many replays in an empty folder, at instants drawn from the seed; return what was found, in words."""
    draw = random.Random(seed)
    (folder / "quiet").mkdir()
    (folder / "killed").mkdir()
    quiet = _begun(folder / "quiet")
    _makes_folder(folder / "quiet", quiet)
    began = time.monotonic()
    _require(quiet.wait() == 0, "a replay that nobody kills fails")
    lasts_s = time.monotonic() - began
    processes = sockets = finished = 0
    for _ in range(times):
        one = _killed(folder / "killed", draw.uniform(0, lasts_s))
        processes, sockets = processes + one[0], sockets + one[1]
        if (folder / "killed/r").exists():  # it was quicker: whole, then
            finished += 1
            _require(_digest(folder / "killed/r") == _digest(folder / "quiet/r"), "results of one that was killed")
            for path in sorted((folder / "killed/r").rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
            (folder / "killed/r").rmdir()
    _require(_begun(folder / "killed").wait() == 0, "the same command does not begin anew")
    _require(_digest(folder / "killed/r") == _digest(folder / "quiet/r"), "it has other results")
    hidden = len(list((folder / "killed").glob(".r.partial-*")))
    return (
        f"{times} replays killed within {lasts_s:.1f} s (seed {seed}), {finished} of which had finished; {processes} processes "
        f"and {sockets} sockets of theirs, of which none is left; {hidden} hidden folders; the last one is equal to one that "
        "nobody disturbed"
    )


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else _TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    with tempfile.TemporaryDirectory(prefix="replay-soak-") as folder:
        print(soak(times, seed, Path(folder)))


if __name__ == "__main__":
    main()
