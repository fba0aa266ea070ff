"""A first run of everything that an order needs, so that no process forked afterwards loads it again."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Final

from bridge.protocol.application_book import ApplicationBook
from bridge.protocol.message_fields import Change, Recipe
from bridge.protocol.messages import PROTOCOL_VERSION, Hello, Quit, Resume, SimulateJob, Suspended, Welcome
from bridge.protocol.packing import pack_float64
from bridge.protocol.session import Session
from bridge.protocol.tables import Role
from bridge.workers.blocking import BlockingConnection, run
from bridge.workers.plain_worker import PlainWorker

if TYPE_CHECKING:
    import ssl

_TOKEN: Final = "warm-up"
_S: Final = 10**9

#: How many jobs are served: Python specialises code in its first calls, which writes to its pages. More than two only where
#: each takes no time: of one loop.
_LOOPS, _OTHERS = 20, 2


def _start(job: int, technique: str, program: str, *, changes: bool) -> SimulateJob:
    return SimulateJob(
        job=job,
        attempt=0,
        start_ns=0,
        core_speed_gflops=pack_float64([1.0, 2.0, 1.0, 1.0]),
        technique=technique,
        parts=None,
        overhead_ns=0,
        latency_ns=None,
        master=False,
        core_host=None,
        network=None,
        records=changes or job // 2 % 2 == 1,
        releases=False,
        recipe=Recipe(
            seed=0,
            job_number=job,
            cores=1,
            n=8,
            mean_gflop=1.0,
            variation=0.25 * (job % 2),
            total_gflop=8.0,
            core_gflop=2.0,
            speed_gflops=1.0,
            bytes_per_gflop=1.0,
            program=program,
        ),
        tasks=None,
        until_ns=_S if changes else None,
        changes=(Change(at_ns=_S // 2, core=0, speed_gflops=2.0),) if changes else (),
        hints=(),
        resizes=None,
        wishes=None,
        resize_ns=0,
        scales=(),
        stop_ns=None,
    )


async def _bridge(connection: BlockingConnection, technique: str, program: str) -> None:
    try:
        assert isinstance(await connection.hear(), Hello)
        connection.say(Welcome(version=PROTOCOL_VERSION, run=_TOKEN))
        for job, changes in enumerate((*[False] * (_OTHERS if program else _LOOPS), True)):
            connection.say(_start(job, technique, program, changes=changes))
            while connection.session.book.open_jobs():
                if isinstance(await connection.hear(), Suspended):
                    connection.say(Resume(job=job, until_ns=None, changes=(), stop_ns=2 * _S))
        connection.say(Quit())
        await connection.hear()
    finally:  # otherwise the other end would wait forever
        connection.close()


def warm_up(context: ssl.SSLContext | None, technique: str, program: str = "") -> PlainWorker:
    """Serve a few small jobs in this process, and return the worker that has served them.

    ``context`` verifies a bridge on another host; None: it is on this one.

    A fault of the technique or program is not reported here, but where a run orders it.
    """
    ours, theirs = socket.socketpair()
    bridge, worker = BlockingConnection(Session(ApplicationBook, Role.BRIDGE, _TOKEN), ours), PlainWorker(context)
    orders = threading.Thread(target=run, args=(_bridge(bridge, technique, program),))
    orders.start()
    try:
        with theirs:
            worker.serve(theirs, _TOKEN, _TOKEN)
    finally:
        orders.join()
    return worker
