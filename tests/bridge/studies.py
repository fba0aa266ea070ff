"""Small studies for tests, with a policy of a user's that does something to the study at one of its cells."""

import os
import subprocess
import sys
from pathlib import Path

from tables import table_text

#: Twelve cells, two seeds.
STUDY = table_text(__file__, "study")

#: Does ``what`` where it should, and is fcfs otherwise. A file says that it has been done.
_POLICY = table_text(__file__, "policy")


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
