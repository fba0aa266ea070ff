"""Graphs in the protocol: what may be said of edges, transfers and measurements, and what a network is told by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conversation import (
    JOB,
    Pair,
    graph,
    loop,
    network,
    transfers,
)
from lengths_peer import ToldPeer
from test_protocol_page import example_messages

from bridge.protocol.messages import Edges, Lengths, Role, Transfers, sender_of
from bridge.protocol.network_fields import state_of
from bridge.protocol.packing import pack_float64, pack_int32, pack_int64
from bridge.protocol.session import ProtocolError
from bridge.protocol.tables import JobState
from bridge.protocol.task_payload import TaskPayload, check_payload
from traces.base.errors import InputError

# What was told is held to

EDGES = TaskPayload(
    np.ones(6),
    (loop(2, edges=1), loop(1), loop(3, edges=2)),
    np.array([0, 0, 1]),
    np.array([1, 2, 2]),
    np.array([5.0, 0.0, 7.0]),
)


def test_transfers_are_along_the_edges_that_were_told() -> None:
    def along(pairs: list[tuple[int, int]], n_bytes: list[float]) -> Transfers:
        instants = pack_int64([200] * len(pairs))
        source, target = (pack_int32(column) for column in zip(*pairs, strict=True))
        columns = {"source": source, "target": target, "bytes": pack_float64(n_bytes)}
        return transfers(**columns, sent_ns=instants, arrived_ns=instants)

    check_payload(EDGES, along([(0, 1), (4, 5)], [5.0, 7.0]))
    check_payload(EDGES, along([(3, 5)], [0.0]))
    # One of the last part is counted within it, not from 0 on.
    for (source, target), n_bytes in {(0, 1): 5.5, (0, 2): 5.0, (1, 2): 7.0, (5, 4): 7.0, (3, 4): 0.0}.items():
        other = along([(source, target)], [n_bytes])
        check_payload(None, other)
        with pytest.raises(ProtocolError, match="job 7: transfers along other edges, or of other bytes") as caught:
            check_payload(EDGES, other)
        assert (caught.value.blame, caught.value.job) == ("application", JOB)


def test_what_is_told_of_tasks_and_edges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bridge.protocol.task_payload.LENGTHS_PER_FRAME", 4)
    monkeypatch.setattr("bridge.protocol.task_payload.EDGES_PER_FRAME", 2)
    pair, sent = Pair(), list(EDGES.messages(JOB))
    pair.say(graph(tasks=6, parts=EDGES.parts), *sent)
    assert [(type(message), message.first) for message in sent] == [(Lengths, 0), (Lengths, 4), (Edges, 0), (Edges, 2)]
    assert pair.application.job_state(JOB) is JobState.RUNNING
    assert (EDGES.total_gflop, EDGES.cov) == (6.0, 0.0)


# Networks


@pytest.mark.parametrize(
    "fields", [{"topology": "ring"}, {"topology": "fat-tree:down=4x4,up=1x2,cables=1x1", "hosts": 17}]
)
def test_a_network_that_cannot_be(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        state_of(network(**fields))


def test_the_graph_of_the_example_is_what_the_engine_makes_of_it() -> None:
    peer, said = ToldPeer(), [message for message in example_messages() if getattr(message, "job", None) == 8]
    answers = [answer for told in said if sender_of(told) is Role.BRIDGE for answer in peer.answers(told)]
    assert answers == [message for message in said if sender_of(message) is Role.APPLICATION]
