"""Random applications in both engines: programs of all kinds of parts, with networks, costs, changes, suspensions and stops."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from two_engines import LV08, Answered, between, both, ordered, unlike

from als.planners import PLANNERS
from als.programs.program import Graph, Loop, Program, Serial
from als.techniques import TECHNIQUES
from bridge.protocol.messages import Change, Resume, Start
from bridge.protocol.packing import pack_int64

S = 10**9
START_NS = 7 * S

#: As far as rounding carries in graphs of 40 tasks on shared links; a request that is served out of turn is far beyond.
MOST_NS = 500

PLAIN = {"latency_factor": 1.0, "bandwidth_factor": 1.0, "weight_bytes": 0.0, "gamma_bytes": 0.0, "crosstraffic": False}
GENERATORS = (
    "layered:tasks=40",
    "cholesky:tiles=4",
    "fork-join:width=6,stages=3",
    "stencil:steps=4,points=5",
    "lu:tiles=3",
    "chain:tasks=6",
)
#: With graphs, techniques that do not choose the tasks.
ON_GRAPHS = tuple(name for name, technique in TECHNIQUES.items() if not technique.places)
#: Those that measure find cores that are alike equal to a nanosecond, and round a chunk up or down by that.
DEAF = tuple(name for name, technique in TECHNIQUES.items() if not technique.learns)


def phase(draw: random.Random, *, alike: bool) -> Serial | Loop | Graph:
    share, kind = draw.uniform(0.1, 1.0), draw.choice(("serial", "loop", "loop", "rounds", "planned"))
    if kind == "serial":
        return Serial(0.2 * share)
    if kind == "loop":
        lengths = draw.choice(("", "uniform:cov=0.4", "gamma:cov=1", "exponential"))
        technique = draw.choice((*(DEAF if alike else TECHNIQUES), *PLANNERS))
        return Loop(technique, lengths=lengths, tasks_per_core=draw.randint(1, 15), share=share)
    spec = draw.choice(GENERATORS) + draw.choice(("", ",ccr=1", ",ccr=0.1", ",cov=0.4"))
    if kind == "planned":
        return Graph(draw.choice((*PLANNERS,)), spec, share=share)
    technique = draw.choice([name for name in ON_GRAPHS if name in DEAF or not alike])
    return Graph(technique, spec, order=draw.choice(("index", "rank")), share=share)


def network(draw: random.Random, n_cores: int) -> dict[str, Any]:
    topology = draw.choice(("full", "shared", "star", "fat-tree:down=2x2,up=1x2"))
    kind = draw.choice(("none", "hockney", "sharing") if ":" not in topology else ("none", "sharing"))
    numbers = LV08 if kind == "sharing" else PLAIN
    memory = draw.choice((None, 1e10))
    hosts = [draw.randint(0, 3) for _ in range(n_cores)]
    return between(hosts, **{**numbers, "kind": kind, "topology": topology, "hosts": 4, "memory_bytes_per_s": memory})


def changes(draw: random.Random, from_ns: int, n_cores: int) -> tuple[Change, ...]:
    made = [
        Change(
            at_ns=from_ns + draw.randint(0, 6 * S),
            core=draw.randint(-1, n_cores - 1),
            speed_gflops=draw.uniform(0.3, 4),
        )
        for _ in range(draw.randint(0, 4))
    ]
    return tuple(sorted(made, key=lambda change: change.at_ns))


def drawn(seed: int) -> tuple[Start, list[Resume]]:
    """A job, and how it is resumed where it is suspended."""
    draw = random.Random(seed)
    n_cores = draw.randint(1, 9)
    alike = draw.random() < 0.3
    speeds = [2.0 if alike else draw.uniform(0.5, 3.0) for _ in range(n_cores)]
    phases = tuple(phase(draw, alike=alike) for _ in range(draw.randint(1, 3)))
    given_fields: dict[str, Any] = {
        "seed": draw.randint(1, 10**9),
        "variation": draw.choice((0.0, 0.5)),
        "overhead_ns": draw.choice((0, 1000, 12_345_678)),
        "master": draw.random() < 0.5,
    }
    if draw.random() < 0.7:
        given_fields["latency_ns"] = pack_int64([draw.choice((0, 700, 50_000, 1_000_003)) for _ in range(n_cores)])
    if draw.random() < 0.3:
        given_fields["stop_ns"] = START_NS + draw.randint(0, 12 * S)
    resumes = []
    if draw.random() < 0.4:
        at = given_fields["until_ns"] = START_NS + draw.randint(1, 8 * S)
        stop_ns = given_fields.get("stop_ns")
        if stop_ns is not None:
            stop_ns = given_fields["stop_ns"] = max(stop_ns, at)
        given_fields["changes"] = changes(draw, START_NS, n_cores)
        for last in (False,) * draw.randint(0, 2) + (True,):
            since, at = at, at + draw.randint(0, 5 * S)
            later = None if stop_ns is None else max(stop_ns, at)
            until = None if last else at
            resumes.append(Resume(job=4, until_ns=until, changes=changes(draw, since, n_cores), stop_ns=later))
    program = Program(phases, steps=draw.choice((1, 1, 2, 3)), redraw=draw.random() < 0.5)
    between_hosts = network(draw, n_cores) if program.has_graph else {}
    return ordered(speeds, program=program.to_json(), **given_fields, **between_hosts), resumes


def unlike_but_for_the_cut(ours: Answered, theirs: Answered) -> int:
    """Of a job that was stopped: how far the tasks that ran are apart. One that began just at the stop may not have begun."""
    stop_ns = ours.outcome.end_ns
    assert theirs.outcome.stopped
    assert theirs.outcome.end_ns == stop_ns
    ran, also = ours.start >= 0, theirs.start >= 0
    just = np.where(ran, ours.start, theirs.start) >= stop_ns - MOST_NS
    assert (just | (ran == also)).all()
    both_ran = ran & also
    assert (ours.core == theirs.core)[both_ran].all()
    apart = [np.abs(getattr(ours, name) - getattr(theirs, name))[both_ran].max(initial=0) for name in ("start", "end")]
    apart += [np.abs(getattr(ours, name) - getattr(theirs, name)).max() for name in ("busy", "finish")]
    return int(max(apart))


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60)
def test_both_engines_agree(seed: int) -> None:
    ours, theirs = both(*drawn(seed))
    if ours.outcome.stopped and theirs.outcome.stopped:
        assert unlike_but_for_the_cut(ours, theirs) <= MOST_NS
    else:
        assert unlike(ours, theirs) <= MOST_NS
