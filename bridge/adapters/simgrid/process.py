"""A job's SimGrid process: found, started, answered and ended."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from bridge.adapters.simgrid.asked import JobSchedulers
from bridge.workers.process_names import die_with_parent, how_ended
from traces.base.errors import InputError, PeerError, PluginError, shown

#: The packages that provide SimGrid.
SIMGRID: Final = "Debian's python3-simgrid, or simgrid from PyPI (pip install 'twolevel[simgrid]')"

#: Pythons to try, in this order: the one that runs the adapter, and the system's, for which Debian has a package.
_PYTHONS: Final = (sys.executable, "/usr/bin/python3")

#: Prints the place of SimGrid's module. PyPI's package has its library next to it, where the loader does not search.
_WHERE: Final = "import importlib.util as u; found = u.find_spec('simgrid'); print(found.origin if found else '')"
_WHICH: Final = "import simgrid; print(simgrid.simgrid_version)"
_HERE: Final = Path(__file__).resolve().parent
_RUN: Final = "import sys; sys.path.insert(0, sys.argv[1]); from inside.program import main; main()"


@dataclass(frozen=True)
class Installation:
    """A Python that has SimGrid."""

    python: str
    library_path: str  # folders for its loader to search
    version: str  # SimGrid's

    @property
    def environment(self) -> dict[str, str]:
        """The environment of its processes."""
        return os.environ | {"LD_LIBRARY_PATH": self.library_path}


def find_simgrid(python: str | None = None) -> Installation:
    """The Python that has SimGrid: this one, or the system's, or ``python``. Raises InputError if there is none."""
    for tried in _PYTHONS if python is None else (python,):
        if not (origin := _said(tried, _WHERE, dict(os.environ))):
            continue
        folders = [str(Path(origin).parent), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        found = Installation(tried, os.pathsep.join(folders), "")
        if version := _said(tried, _WHICH, found.environment):
            return replace(found, version=version)
    tried = " and ".join(dict.fromkeys(_PYTHONS)) if python is None else python
    raise InputError(f"SimGrid: not found by {tried}; install {SIMGRID}, or name the Python that has it with --python")


def _said(python: str, program: str, environment: dict[str, str]) -> str:
    how: dict[str, Any] = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL}
    try:
        done = subprocess.run([python, "-c", program], env=environment, check=False, **how)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


class JobProcess:
    """One job in its own process; ``order`` is the argument of ``inside.world``; ``asked`` answers its questions."""

    def __init__(self, installation: Installation, order: dict[str, Any], asked: JobSchedulers) -> None:
        self._asked = asked
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - read where the process ends by itself
        self._process = subprocess.Popen(
            [installation.python, "-c", _RUN, str(_HERE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env=installation.environment,
            preexec_fn=partial(die_with_parent, os.getpid()),  # noqa: PLW1509 - an adapter has one thread
        )
        try:
            self._send(order)
        except BaseException:  # it has already ended, but this is not yet known elsewhere
            self.end()
            raise

    def resume(self, until_ns: int | None, changes: Sequence[tuple[int, int, float]], stop_ns: int | None) -> None:
        """Continue a suspended job; instants from the job's start."""
        self._send({"until": until_ns, "changes": changes, "stop": stop_ns})

    def run(self) -> tuple[int, None] | tuple[None, dict[str, Any]]:
        """Answer the process until it is suspended, at an instant from the job's start, or has ended, with its results.
        Raises InputError or PluginError if a technique or a planner is at fault, and PeerError if SimGrid is."""
        asked = self._asked
        answers: dict[str, Callable[..., Any]] = {"ask": asked.size, "plan": asked.sequences, "order": asked.positions}
        while True:
            said, *values = self._received()
            if said in answers:
                self._send(answers[said](*values))
            elif said == "begin":
                asked.begin(*values)
            elif said == "suspended":
                return values[0], None
            elif said == "stuck":
                left = f"with tasks left, {values[0]} of them"
                raise PluginError(f"the application technique sent every core away {left}")
            elif said == "refused":
                raise InputError(values[0])
            elif said == "fault":
                raise PeerError(f"SimGrid's process: {shown(' '.join(values[0].split()), 300)}")
            else:
                return None, values[0]

    def end(self) -> None:
        """End the process, if it still exists."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            assert stream is not None
            with suppress(BrokenPipeError):  # it did not read everything
                stream.close()

    def _send(self, what: Any) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(what, separators=(",", ":")).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._fault() from None

    def _received(self) -> list[Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line.endswith(b"\n"):
            raise self._fault()
        heard: list[Any] = json.loads(line)
        return heard

    def _fault(self) -> PeerError:
        how = how_ended(self._process.wait())
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").splitlines()
        # SimGrid's text before its backtrace, or the last line of Python's.
        why = [line for line in lines if "CRITICAL" in line][:1] or [line for line in lines if "INFO" not in line][-1:]
        said = f": {shown(why[0].strip(), 300)}" if why else ""
        return PeerError(f"SimGrid's process {how}{said}")
