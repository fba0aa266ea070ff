"""The process of a scheduler: started in a group of its own, and ended with all that it has started."""

import contextlib
import os
import select
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

from bridge.protocol.messages import ADDRESS_VARIABLE, TOKEN_VARIABLE
from bridge.workers.process_names import how_ended
from traces.base.errors import InputError, shown

#: What is run first in the new process, by an interpreter that reads nothing of the user's.
_LAUNCH: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))


def words_of(command: str, where: str) -> list[str]:
    """The words of a command line, split as a shell would. Raises InputError if it is none, or its first word is no
    program; the message begins with ``where``."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise InputError(f"{where}: {shown(command)}: {error}") from None
    if not words:
        raise InputError(f"{where}: empty; allowed: a command line")
    if shutil.which(words[0]) is None:
        raise InputError(f"{where}: {shown(words[0])} is not a program that can be run")
    return words


class SchedulerProcess:
    """A scheduler that was started; no shell runs its command.

    - ``address``, ``token``: given in the environment, where other users cannot read them.
    - ``where``: the option that named it.

    Raises InputError if the system does not run it.
    """

    def __init__(self, words: list[str], address: str, token: str, where: str) -> None:
        environment = {**os.environ, ADDRESS_VARIABLE: address, TOKEN_VARIABLE: token}
        heard, said = os.pipe()
        try:
            # What it prints is no output of the run; an interrupt at the terminal is ours to deal with.
            self._process = subprocess.Popen(
                [*_LAUNCH, str(os.getpid()), str(said), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=(said,),
                start_new_session=True,
            )
        except BaseException:
            os.close(heard)
            raise
        finally:
            os.close(said)
        with open(heard, "rb") as pipe:  # until its program runs, which takes milliseconds
            problem = pipe.read()
        if problem:
            self._process.wait()
            raise InputError(f"{where}: {shown(words[0])}: {os.strerror(int(problem))}")
        #: Readable as soon as it has ended; it is not reaped then.
        self.ended = os.pidfd_open(self._process.pid)

    @property
    def pid(self) -> int:
        """Its number, which nobody else has until :meth:`close`."""
        return self._process.pid

    def wait(self, patience_s: float) -> bool:
        """Whether it ends within so long."""
        watched = select.poll()
        watched.register(self.ended, select.POLLIN)
        return bool(watched.poll(1000.0 * patience_s))

    def close(self) -> str:
        """Kill it, if it is still there, and all that it has started; returns how it ended, as "was killed by SIGKILL"."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # while the number is still taken
        code = self._process.wait()
        os.close(self.ended)
        return how_ended(code)
