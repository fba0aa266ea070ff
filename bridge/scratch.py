"""Temporary folders in TMPDIR. The owner removes its folder; if it was killed, the next program that makes one does.

A lock shows whether the owner is alive: the kernel releases it when the process ends. No folder is removed for its name.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bridge.held_interrupts import interrupts_held

_PREFIX: Final = "twolevel-"
_OWNER: Final = ".owner"  #: the file that the owner locks, and its contents, which identify folders of this program
_MARK: Final = b"A folder of twolevel. It may be removed once nobody holds a lock on this file.\n"


class Scratch:
    """A new folder, ``path``, that only this user may enter, until it is closed. Abandoned folders are removed first."""

    def __init__(self) -> None:
        remove_abandoned()
        with interrupts_held():
            self._make()

    def _make(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        try:
            # Lock it before it gets its name, so that it is never visible without a lock.
            new = self.path / f"{_OWNER}.new"
            self._lock = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):  # a file system without locks: only the owner removes the folder
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.write(self._lock, _MARK)
                new.rename(self.path / _OWNER)
        except BaseException:
            shutil.rmtree(self.path, ignore_errors=True)
            raise

    def close(self) -> None:
        """Remove the folder; a second call does nothing."""
        with interrupts_held():
            if self._lock < 0:
                return  # another file may have this number now
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._lock)
            self._lock = -1


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """Make a :class:`Scratch` folder for the duration of the context."""
    with interrupts_held() as held:
        scratch = Scratch()
        try:
            held.let_through()
            yield scratch.path
        finally:
            scratch.close()


def remove_abandoned() -> None:
    """Remove folders of this user whose owners have died."""
    with contextlib.suppress(OSError), os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(_PREFIX):
                with contextlib.suppress(OSError):
                    _remove_if_abandoned(entry)


def _remove_if_abandoned(entry: os.DirEntry[str]) -> None:
    if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.geteuid():
        return
    lock = os.open(os.path.join(entry.path, _OWNER), os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if os.read(lock, len(_MARK) + 1) == _MARK:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry.path, ignore_errors=True)
    finally:
        os.close(lock)
