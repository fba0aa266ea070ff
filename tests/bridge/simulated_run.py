"""A run with processes of which nothing is real but the bridge: network, processes and clock are simulated, from a seed.

``python tests/bridge/simulated_run.py SEED`` repeats one and prints what happened.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[up]) for up in (0, 1, 2)]

from simulated_world import STRANGERS_LET_IN, Simulated, World
from small_scenarios import scenario
from virtual_hosts import ADDRESS
from virtual_loop import NeverEnds, VirtualLoop

from bridge.couplings import PeerOptions, processes
from bridge.protocol import task_payload
from bridge.protocol.messages import Message
from bridge.protocol.session import ConnectionClosed, Session
from bridge.protocol.tables import ConnectionEvent
from bridge.runs.simulation import run
from bridge.workers import listener, slices
from bridge.workers.assignment import Worker
from bridge.workers.supervisor import Supervisor
from bridge.workers.workforce import Workforce

__all__ = ["simulated"]

#: Slices are short, so that small jobs have several.
_PER_FRAME = 9

_FOLDER = "/simulated"

_COMMAND = shlex.join([sys.executable, "of somebody else"])


class _Runner:
    """What :class:`asyncio.Runner` is to a run, with a loop of ours."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop

    def __enter__(self) -> _Runner:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def get_loop(self) -> VirtualLoop:
        return self._loop


class _Lines(logging.Handler):
    def __init__(self, world: World) -> None:
        super().__init__()
        self._world = world

    def emit(self, record: logging.LogRecord) -> None:
        self._world.warned(record.getMessage())


@contextlib.contextmanager
def _instead_of_the_system(world: World) -> Iterator[None]:
    """Everything that a run asks of the system it asks of a world; and sessions have a witness."""
    apply, end_of_stream, refuse = Session._apply, Session._end_of_stream, Session._refuse

    def applied(self: Session, message: Message) -> bool:
        before = self.state
        heard = apply(self, message)
        world.stepped(self, before, message, getattr(message, "attempt", 0))
        return heard

    def ended(self: Session) -> ConnectionClosed:
        before = self.state
        closed = end_of_stream(self)
        world.found.connection_steps.add((before, ConnectionEvent.END_OF_STREAM, self.state))
        return closed

    def refused(self: Session, *reason: Any) -> Any:
        before = self.state
        refusal = refuse(self, *reason)
        world.found.connection_steps.add((before, ConnectionEvent.REFUSED, self.state))
        return refusal

    class Watched(Supervisor):
        def __init__(self, *options: Any, **further: Any) -> None:
            super().__init__(*options, **further)
            world.supervisor = self

    watch, take = Workforce.watch, Workforce.take

    async def watched(self: Workforce) -> None:
        world.watches_s = world.loop.time()
        await watch(self)

    def taken(self: Workforce, worker: Worker, message: Message) -> None:
        world.taken(message)
        take(self, worker, message)

    class Scratch:
        def __init__(self) -> None:
            world.folders += 1
            self.path = Path(f"{_FOLDER}/twolevel-{world.folders}")

        def close(self) -> None:
            world.removed.append(str(self.path))

    log = logging.getLogger("twolevel.bridge")
    handler, propagate = _Lines(world), log.propagate
    with contextlib.ExitStack() as stack:
        for target, name, stand_in in (
            (asyncio, "Runner", lambda: _Runner(world.loop)),
            (processes, "Supervisor", Watched),
            (Workforce, "watch", watched),
            (Workforce, "take", taken),
            # Whoever starts the tests may have chosen to ignore interrupts.
            (processes.signal, "getsignal", lambda number: signal.default_int_handler),
            (processes.signal, "signal", lambda number, handler: None),
            (Session, "_apply", applied),
            (Session, "_end_of_stream", ended),
            (Session, "_refuse", refused),
            (listener, "Scratch", Scratch),
            (listener, "STRANGERS", STRANGERS_LET_IN),
            (task_payload, "LENGTHS_PER_FRAME", _PER_FRAME),
            (task_payload, "EDGES_PER_FRAME", _PER_FRAME),
            (slices, "RECORDS_PER_FRAME", _PER_FRAME),
        ):
            stack.enter_context(mock.patch.object(target, name, stand_in))
        log.addHandler(handler)
        log.propagate = False
        try:
            yield
        finally:
            log.removeHandler(handler)
            log.propagate = propagate


def simulated(seed: int) -> Simulated:
    """Run what a seed means, and say what came of it."""
    world = World(seed)
    plan = world.plan
    planned = scenario(plan.kind, plan.variant)
    result, error = None, None
    with _instead_of_the_system(world), world.site.instead_of_the_system() if world.site else contextlib.nullcontext():
        if world.site is None:
            peers = PeerOptions(plan.workers, plan.timeout_s, _COMMAND if plan.told else None)
        else:
            peers = PeerOptions(plan.workers or None, plan.timeout_s, listen=ADDRESS, token_file="/simulated/token")
        try:
            result = run(planned, coupling_name=plan.coupling, keep_tasks=plan.keep_tasks, peers=peers)
        except NeverEnds as never:
            world.problem(f"the run does not end: {never}")
            world.found.end = "never"
        except BaseException as raised:
            error = raised
        if not world.found.end:
            world.check_end(error, result)
        world.abandon()
    return world.found


def main(seed: str) -> int:
    """Repeat a seed, and print what happened."""
    found = simulated(int(seed))
    for at_s, who, what in found.log:
        print(f"{at_s:10.4f}  {who:12}  {what}")
    print(found.failure() if found.problems else f"seed {seed}: {found.end}")
    return bool(found.problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
