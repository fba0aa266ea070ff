"""Small studies for tests, with a policy of a user's that does something to the study at one of its cells."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

#: Twelve cells, two seeds.
STUDY = """
[study]
seeds = 2
{study}

[[workload]]
name = "a"
file = "sample"
select = "first:20"

[[workload]]
name = "b"
file = "sample"
select = "window:20h+2h"

[run]
tasks-per-core = 3

[grid]
bls = ["fcfs", "{policy}"]
als = ["static", "gss"]
variation = [0.2]

[[cell]]
bls = "sjf"
backfill = "easy"
als = "fac"
variation = 0.2

[[cell]]
als = "recorded"
"""

#: Does ``what`` where it should, and is fcfs otherwise. A file says that it has been done.
_POLICY = """
import os, signal
from pathlib import Path
DONE = Path(__file__).with_name("done")
class Fatal:
    name = "fatal"
    def keys(self, jobs):
        if {when}:
            DONE.touch()
            {what}
        return jobs.submit_ns
"""


def killing_policy(folder: Path, what: str, when: str = "True", *, once: bool = True) -> str:
    """Write a policy that does ``what``, once or each time; gives the name to use it by."""
    when = f"{when} and not DONE.exists()" if once else when
    (folder / "fatal.py").write_text(_POLICY.format(what=what, when=when))
    return "fatal.py:Fatal"


def write_study(folder: Path, policy: str = "edf", study: str = "") -> Path:
    path = folder / "study.toml"
    path.write_text(STUDY.format(policy=policy, study=study))
    return path


def run_command(*words: object, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "bridge.cli", *map(str, words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env={**os.environ}, check=False
    )


def quits(pipe: object, parent: int) -> None:
    os._exit(3)
