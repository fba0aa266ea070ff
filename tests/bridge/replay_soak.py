"""Replays that are killed at any instant: ``python tests/bridge/replay_soak.py [TIMES [SEED]]``, as ``make soak`` does.

The same replay is begun several times, and each is killed (``kill -9``) at a random instant from the one on at which it has
made its hidden folder, within the time that an undisturbed one takes from there; the next one begins again at the same place.
No process may be left of one, none of its sockets, and none may have been of a network; what has not finished has no name; and
the one that is left alone at last writes what the undisturbed one wrote.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

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
    # Until it does; before it has nothing that it could leave.
    before = set(folder.iterdir())
    while running.poll() is None and set(folder.iterdir()) == before:
        time.sleep(_LOOK_S)


def started_by(pid: int) -> list[int]:
    """The processes that a replay has started."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):  # it has gone, or belongs to another user
            if f"{_PARENT}={pid}".encode() in path.read_bytes().split(b"\0"):
                found.append(int(path.parent.name))
    return found


def sockets_of(pids: Iterable[int]) -> set[str]:
    """The inodes of the sockets that processes have open."""
    targets = []
    for pid in pids:
        with contextlib.suppress(OSError):
            targets += [os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir()]
    return {target[8:-1] for target in targets if target.startswith("socket:[")}


def known_sockets(*tables: str) -> set[str]:
    """The inodes of all sockets in tables of the kernel."""
    lines = {table: Path(f"/proc/net/{table}").read_text(encoding="utf-8").splitlines()[1:] for table in tables}
    return {line.split()[6 if table == "unix" else 9] for table, found in lines.items() for line in found}


def _files(folder: Path) -> dict[str, bytes]:
    """The files of a result, but for its record, which has times in it."""
    found = {str(path.relative_to(folder)): path for path in folder.rglob("*") if path.is_file()}
    return {name: path.read_bytes() for name, path in found.items() if name != "run.json"}


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
    """Kill this number of replays in an empty folder, at instants drawn from the seed; return what was found, in words."""
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
            _require(_files(folder / "killed/r") == _files(folder / "quiet/r"), "results of one that was killed")
            shutil.rmtree(folder / "killed/r")
    _require(_begun(folder / "killed").wait() == 0, "the same command does not begin again")
    _require(_files(folder / "killed/r") == _files(folder / "quiet/r"), "it has other results")
    hidden = len(list((folder / "killed").glob(".r.partial-*")))
    return (
        f"{times} replays killed within {lasts_s:.1f} s (seed {seed}), {finished} of which had finished; {processes} processes "
        f"and {sockets} sockets, none of which is left; {hidden} hidden folders; the last one equals an undisturbed one"
    )


def main() -> None:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else _TIMES
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**6)
    with tempfile.TemporaryDirectory(prefix="replay-soak-") as folder:
        print(soak(times, seed, Path(folder)))


if __name__ == "__main__":
    main()
