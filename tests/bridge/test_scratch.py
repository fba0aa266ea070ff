"""Folders in TMPDIR: removed by their owner, or once it has died; nobody else's is touched."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from bridge.held_interrupts import interrupts_held
from bridge.scratch import Scratch, remove_abandoned, scratch_folder

#: Makes a folder, says so and waits.
_OWNER = "from bridge.scratch import Scratch; one = Scratch(); print(one.path, flush=True); input()"


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def owner(tmp_path: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", _OWNER],
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_a_killed_owner_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    process, left = owner(tmp_path)
    with process:
        (left / "file").write_text("x")
        remove_abandoned()
        assert (left / "file").exists()  # its owner lives
        process.kill()
    with scratch_folder() as folder:
        assert list(tmp_path.iterdir()) == [folder]
        assert folder.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_removed_for_its_name(tmp_path: Path) -> None:
    (tmp_path / "twolevel-results").mkdir()
    (tmp_path / "twolevel-file").write_text("mine")
    other = tmp_path / "twolevel-other"
    other.mkdir()
    (other / ".owner").write_text("another program's")
    process, left = owner(tmp_path)
    with process:
        process.kill()
    (tmp_path / "kept").mkdir()
    left.rename(tmp_path / "kept" / "folder")
    (tmp_path / "twolevel-link").symlink_to(tmp_path / "kept" / "folder")
    before = sorted(tmp_path.rglob("*"))
    remove_abandoned()
    assert sorted(tmp_path.rglob("*")) == before


def test_an_interrupt_waits_until_a_folder_is_known(tmp_path: Path) -> None:
    def interrupted() -> None:
        with interrupts_held():
            scratch = Scratch()
            signal.raise_signal(signal.SIGINT)
            scratch.close()

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # who starts the tests may have chosen another
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted()
    finally:
        signal.signal(signal.SIGINT, before)
    assert list(tmp_path.iterdir()) == []


def test_closing_again_closes_nothing_else(tmp_path: Path) -> None:
    scratch = Scratch()
    scratch.close()
    with (tmp_path / "other").open("w") as other:  # may have the number that the lock had
        scratch.close()
        os.fstat(other.fileno())
