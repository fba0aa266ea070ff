"""A run with processes of which only the bridge is real: network, processes and clock are simulated, from a seed.

``python tests/bridge/simulated_run.py SEED`` repeats a run and prints its events.
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
from virtual_loop import NeverEnds
from virtual_processes import Talk

from bridge.couplings import PeerOptions, processes
from bridge.protocol import task_payload
from bridge.protocol.messages import Message
from bridge.protocol.session import Session
from bridge.protocol.tables import ConnectionEvent
from bridge.runs.simulation import run
from bridge.workers import listener, slices, worker
from bridge.workers.assignment import Worker
from bridge.workers.supervisor import Supervisor
from bridge.workers.workforce import Workforce

__all__ = ["simulated"]

#: Slices are short, so that small jobs have several.
_PER_FRAME = 9

_COMMAND = shlex.join([sys.executable, "of a user"])


@contextlib.contextmanager
def _instead_of_the_system(world: World) -> Iterator[None]:
    """A run requests from a world whatever it requests from the system; and its sessions have a witness."""
    apply, end_of_stream, refuse = Session._apply, Session._end_of_stream, Session._refuse
    watch, take = Workforce.watch, Workforce.take

    def applied(self: Session, message: Message) -> bool:
        before = self.state
        heard = apply(self, message)
        world.stepped(self, before, message, getattr(message, "attempt", 0))
        return heard

    def noted(event: ConnectionEvent, step: Any) -> Any:
        def stepped(self: Session, *reason: Any) -> Any:
            before = self.state
            found = step(self, *reason)
            world.found.connection_steps.add((before, event, self.state))
            return found

        return stepped

    class Watched(Supervisor):
        def __init__(self, *options: Any, **further: Any) -> None:
            super().__init__(*options, **further)
            world.supervisor = self

    async def watched(self: Workforce) -> None:
        world.watches_s = world.loop.time()
        await watch(self)

    def taken(self: Workforce, worker: Worker, message: Message) -> None:
        world.taken(message)
        take(self, worker, message)

    class Scratch:
        def __init__(self) -> None:
            self.path = Path(f"/simulated/twolevel-{len(world.folders)}")
            world.folders.append(str(self.path))

        def close(self) -> None:
            world.removed.append(str(self.path))

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            world.warned(record.getMessage())

    log, lines = logging.getLogger("twolevel.bridge"), Lines()
    with contextlib.ExitStack() as stack:
        if world.site is not None:
            stack.enter_context(world.site.instead_of_the_system())
        for target, name, stand_in in (
            (asyncio, "Runner", lambda: contextlib.nullcontext(mock.Mock(get_loop=lambda: world.loop))),
            (processes, "Supervisor", Watched),
            (Workforce, "watch", watched),
            (Workforce, "take", taken),
            # The program that starts the tests may ignore interrupts.
            (processes.signal, "getsignal", lambda number: signal.default_int_handler),
            (processes.signal, "signal", lambda number, handler: None),
            (Session, "_apply", applied),
            (Session, "_end_of_stream", noted(ConnectionEvent.END_OF_STREAM, end_of_stream)),
            (Session, "_refuse", noted(ConnectionEvent.REFUSED, refuse)),
            (worker, "Connection", Talk),
            (listener, "Scratch", Scratch),
            (listener, "STRANGERS", STRANGERS_LET_IN),
            (task_payload, "LENGTHS_PER_FRAME", _PER_FRAME),
            (task_payload, "EDGES_PER_FRAME", _PER_FRAME),
            (slices, "RECORDS_PER_FRAME", _PER_FRAME),
            (log, "propagate", False),
        ):
            stack.enter_context(mock.patch.object(target, name, stand_in))
        log.addHandler(lines)
        stack.callback(log.removeHandler, lines)
        yield


def simulated(seed: int) -> Simulated:
    """Run the meaning of a seed, and return what was found."""
    world = World(seed)
    plan = world.plan
    result, error = None, None
    with _instead_of_the_system(world):
        if world.site is None:
            peers = PeerOptions(plan.workers, plan.timeout_s, _COMMAND if plan.told else None)
        else:
            peers = PeerOptions(plan.workers or None, plan.timeout_s, listen=ADDRESS, token_file="/simulated/token")
        planned = scenario(plan.kind, plan.variant)
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
    """Repeat a seed, and print its events."""
    found = simulated(int(seed))
    for at_s, who, what in found.log:
        print(f"{at_s:10.4f}  {who:12}  {what}")
    print(found.failure() if found.problems else f"seed {seed}: {found.end}")
    return bool(found.problems)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
