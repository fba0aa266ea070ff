"""The process of a scheduler: started in its own process group, and ended together with its children."""

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

#: Run first in the new process, by an interpreter that ignores the user's settings.
_LAUNCH: Final = (sys.executable, "-I", "-S", str(Path(__file__).with_name("launch.py")))


def words_of(command: str, where: str) -> list[str]:
    """The words of a command line, split like a shell would. Raises InputError if it is empty, or its first word is not a
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
    """A running scheduler; its command is run without a shell. ``address`` and ``token`` are passed in the environment, which
    other users cannot read. Raises InputError, with the option ``where``, if the system does not run it."""

    def __init__(self, words: list[str], address: str, token: str, where: str) -> None:
        environment = {**os.environ, ADDRESS_VARIABLE: address, TOKEN_VARIABLE: token}
        reading, writing = os.pipe()
        try:
            # Its output is not part of the run's output; interrupts at the terminal are handled by the run.
            self._process = subprocess.Popen(
                [*_LAUNCH, str(os.getpid()), str(writing), *words],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=(writing,),
                start_new_session=True,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        with open(reading, "rb") as pipe:  # until its program runs, which takes milliseconds
            problem = pipe.read()
        if problem:
            self._process.wait()
            raise InputError(f"{where}: {shown(words[0])}: {os.strerror(int(problem))}")
        #: Becomes readable when the process has ended; it is not reaped then.
        self.ended = os.pidfd_open(self._process.pid)

    def wait(self, patience_s: float) -> bool:
        """Whether it ends within ``patience_s``."""
        watched = select.poll()
        watched.register(self.ended, select.POLLIN)
        return bool(watched.poll(1000.0 * patience_s))

    def close(self) -> str:
        """Kill it and its children, as far as they are still running; return how it ended, such as "was killed by SIGKILL"."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # while the number is still reserved
        code = self._process.wait()
        os.close(self.ended)
        return how_ended(code)
