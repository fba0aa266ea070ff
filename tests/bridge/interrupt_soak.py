"""Interrupt commands at random instants: each ends with 130 soon, says one line, and leaves no process and no file.

``python tests/bridge/interrupt_soak.py --times 100``; ``--seed`` repeats what another soak has drawn. Instants are drawn over
the life of a command: it starts, its cluster starts, it runs, it closes; every fourth comes right after the dashboard's line.
The signal goes to the command's process group, as from a terminal, and half of the commands get a second one.
"""

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

#: Each takes as long as a small study.
_STUDY = """
[study]
seeds = 25
[[workload]]
name = "a"
file = "sample"
select = "first:20"
[grid]
bls = ["fcfs", "sjf"]
als = ["static", "gss"]
variation = [0.2]
"""

#: What is interrupted, by its name.
COMMANDS = {
    "cluster": ("study", "study.toml", "--cluster", "local", "--workers", "1", "--out", "out"),
    "workers": ("study", "study.toml", "--workers", "2", "--out", "out"),
    "pool": ("run", "sample", "--als", "gss", "--coupling", "process", "--workers", "2", "--out", "out"),
}

#: The last line of a command that was interrupted.
LINES = (
    "twolevel: interrupted; nothing was written",
    "twolevel: interrupted; finished cells are kept in out; the same command continues",
)

#: How long a command may take to end after an interrupt, s; a machine may be busy.
_BOUND_S = 60.0

#: When our own code has not begun, and Python ends as it likes, s.
_PYTHON_S = 0.5


@dataclass(frozen=True)
class Ended:
    """How a command ended: what was wrong (empty: nothing), and how long it took after the interrupt, s."""

    wrong: str
    took_s: float
    code: int


def _of(folder: Path) -> list[int]:
    # The processes that have this folder as their TMPDIR.
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if f"TMPDIR={folder}\0".encode() in (entry / "environ").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found


def interrupted(
    folder: Path,
    words: tuple[str, ...],
    after_s: float,
    *,
    again_s: float = 0.0,
    at_line: str = "",
    by: signal.Signals = signal.SIGINT,
) -> Ended:
    """Run a command in an empty folder; interrupt it ``after_s`` after a line of its stderr, and ``again_s`` later once more.

    Of SIGKILL the command learns nothing: its remains must vanish by themselves.
    """
    temporary, said = folder / "tmp", folder / "said"
    temporary.mkdir(parents=True)
    (folder / "study.toml").write_text(_STUDY)
    with said.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-m", "bridge.cli", *words],
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            env={**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        )
    while at_line and at_line not in said.read_text() and process.poll() is None:
        time.sleep(0.01)
    time.sleep(after_s)
    began = time.monotonic()
    for wait_s in (0.0, again_s) if again_s else (0.0,):
        time.sleep(wait_s)
        if process.poll() is None:
            os.killpg(process.pid, by)
    try:
        code = process.wait(_BOUND_S)
    except subprocess.TimeoutExpired:
        for pid in _of(temporary):
            os.kill(pid, signal.SIGKILL)
        process.wait()
        return Ended(f"hangs: {said.read_text()!r}", _BOUND_S, 0)
    took_s, text = time.monotonic() - began, said.read_text()
    wrong = []
    odd = code == 130 and text.splitlines()[-1:] not in [[line] for line in LINES]
    if odd or code not in (0, 130, -by) or "Traceback" in text or "Exception ignored" in text:
        wrong.append(f"exit code {code}, {text!r}")
    deadline = time.monotonic() + 10
    while _of(temporary) + [*temporary.iterdir()] * (by == signal.SIGKILL) and time.monotonic() < deadline:
        time.sleep(0.05)
    others = [path for path in folder.iterdir() if path.name not in ("study.toml", "tmp", "said", "out")]
    if left := [*_of(temporary), *map(str, temporary.rglob("*")), *map(str, others)]:
        wrong.append(f"is left: {left}")
    return Ended("; ".join(wrong), took_s, code)


def main() -> int:
    """Interrupt as often as is asked; returns 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("--command", choices=COMMANDS, default="cluster")
    chosen = parser.parse_args()
    draw, words = random.Random(chosen.seed), COMMANDS[chosen.command]
    print(f"seed {chosen.seed}: {' '.join(words)}", flush=True)
    wrong, codes, longest_s = 0, dict.fromkeys((0, 130), 0), 0.0
    with tempfile.TemporaryDirectory(prefix="interrupts-") as place:
        began = time.monotonic()
        whole = interrupted(Path(place) / "whole", words, 0.0, at_line="results: ")
        life_s = time.monotonic() - began
        print(f"it takes {life_s:.1f} s; interrupted at its end: {whole.wrong or 'well'}", flush=True)
        for number in range(chosen.times):
            at_line = "its dashboard" if number % 4 == 0 and chosen.command == "cluster" else ""
            after_s = draw.uniform(0, 0.5) if at_line else draw.uniform(_PYTHON_S, life_s)
            again_s = draw.choice((0.0, draw.uniform(0.01, 1.0)))
            ended = interrupted(Path(place) / f"{number}", words, after_s, again_s=again_s, at_line=at_line)
            codes[ended.code] = codes.get(ended.code, 0) + 1
            wrong += bool(ended.wrong)
            longest_s = max(longest_s, ended.took_s)
            what = f"{after_s:.2f} s after {at_line or 'its start'!r}, again {again_s:.2f} s"
            print(f"{number}: {what}: {ended.code} in {ended.took_s:.2f} s {ended.wrong}", flush=True)
    print(f"{chosen.times} interrupts, exit codes {codes}, {wrong} wrong, the longest took {longest_s:.1f} s")
    return int(wrong > 0 or bool(whole.wrong))


if __name__ == "__main__":
    sys.exit(main())
