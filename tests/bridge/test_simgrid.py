"""SimGrid as the application level: it agrees with the project's engine, also on random jobs, and says what it cannot."""

import gc
import os
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversation import change
from faulty_runs import descendants, simulated
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_text
from two_engines import LV08, Answered, answered, between, both, ordered, simgrid, unlike

from als.planners import PLANNERS
from als.programs.program import Graph, Loop, Program, Serial
from als.techniques import TECHNIQUES
from als.workers import WorkerKind
from bridge.adapters.simgrid import process
from bridge.adapters.simgrid.peer import MAX_ACTORS, SimGridPeer
from bridge.adapters.simgrid.process import find_simgrid
from bridge.protocol.messages import Cancel, Change, Failed, Resume, SimulateJob
from bridge.protocol.packing import pack_int64
from traces.base.errors import InputError

pytestmark = [pytest.mark.whole, pytest.mark.usefixtures("nothing_is_left")]

S, US = 10**9, 10**3
START_NS = 7 * S
ADAPTER = shlex.join([sys.executable, "-m", "bridge.adapters.simgrid"])

#: Cores of other speeds, so that no two of them end tasks at one instant by chance.
SPEEDS = [1.0, 2.5, 1.3, 0.7]


def test_a_technique_in_plain_python(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Halves:\n"
        "    name = 'halves'\n"
        "    def chunk(self, ask):\n"
        "        return max(1, ask.remaining // 2 if ask.core else ask.remaining // 5)\n"
    )
    ours, theirs = both(ordered(SPEEDS, f"{tmp_path / 'mine.py'}:Halves"))
    assert (ours.chunk == theirs.chunk).all()
    assert unlike(ours, theirs) <= 24


def graph(how: str, spec: str = "layered:tasks=60", order: str = "index") -> str:
    return Program((Graph(how, spec, order=order),)).to_json()


def test_a_graph_drawn_by_hand() -> None:
    """A fork of two tasks, which are joined, on two hosts: one of the two, and later the join, needs data from the other host.

    Each transfer is alone, and takes by LV08 13.01 latencies of 1 µs, and then its bytes at 0.97 · 1.25·10⁹ bytes/s.
    """
    program = Program((Graph("ss", "fork-join:width=2,stages=1,ccr=1"),)).to_json()
    ours, theirs = both(ordered([1.0, 1.0], program=program, variation=0.0, **between([0, 1])))
    assert len(theirs.transfers) == 2
    for (source, target, n_bytes), sent, arrived in zip(theirs.transfers, theirs.sent, theirs.arrived, strict=True):
        took_s = 13.01e-6 + n_bytes / (0.97 * 1.25e9)
        assert abs(int(arrived - sent) - took_s * 1e9) <= 2
        assert theirs.core[source] != theirs.core[target]
        assert (sent, arrived) == (theirs.end[source], theirs.start[target])
    assert unlike(ours, theirs) <= 10


def asked(order: SimulateJob, platform: Path | None = None) -> Answered | Failed:
    """The answer of SimGrid to an order."""
    peer = SimGridPeer(simgrid(), platform)
    try:
        return answered(peer, order, [])
    finally:
        peer.close()


def _of_simgrid(order: SimulateJob, platform: Path | None = None) -> Answered:
    found = asked(order, platform)
    assert isinstance(found, Answered), found
    return found


def _refused(order: SimulateJob, platform: Path | None = None) -> str:
    found = asked(order, platform)
    assert isinstance(found, Failed), found
    return found.reason


def test_several_jobs_suspended_at_once_and_one_cancelled() -> None:
    peer = SimGridPeer(simgrid())
    try:
        for job in range(3):
            answers = list(peer.answers(ordered(SPEEDS, "ss", job=job, until_ns=START_NS + S)))
            assert [type(answer).__name__ for answer in answers] == ["Suspended"]
        assert len(descendants()) >= 3
        assert list(peer.answers(Cancel(job=1))) == []
        for job in (2, 0):
            answers = list(peer.answers(Resume(job=job, until_ns=None, changes=(), stop_ns=None)))
            assert [type(answer).__name__ for answer in answers] == ["Records", "Outcome"]
    finally:
        peer.close()


TWO = [1.0, 1.0]
THERE = "allowed: cores that are available from the start to the end"
MINIMAL, TREE = "dragonfly:groups=2,chassis=2,routers=2,nodes=1", "fat-tree:down=2x3,up=1x2,cables=1x2"


def test_what_it_cannot_is_said_in_a_line(tmp_path: Path) -> None:
    net = tmp_path / "net.xml"
    net.write_text("")

    def on(**fields: Any) -> SimulateJob:
        return ordered(TWO, program=graph("ss"), **between([0, 1], **fields))

    for order, platform, reason in (
        (ordered([1.0, 0.0]), None, f"SimGrid: an absent core; {THERE}"),
        (ordered(TWO, changes=(change(START_NS + S, 0, 0.0),)), None, f"SimGrid: a lost core; {THERE}"),
        (ordered(TWO, "select:ss,gss"), None,
         "SimGrid: select:ss,gss: looks ahead by simulating the loop; allowed: techniques and planners"),
        (ordered(TWO, program=graph("static-steal"), **between([0, 1])), None,
         "SimGrid: static-steal: chooses the tasks of a chunk; allowed with graphs: techniques that only choose sizes"),
        (ordered(TWO, program=Program((Loop("ss"),), workers=(WorkerKind(),)).to_json()), None,
         "SimGrid: workers that are no cores; allowed: cores alone"),
        (ordered([1.0] * (MAX_ACTORS + 1)), None, "SimGrid: a job of 8193 cores; allowed: up to 8192, one actor per core"),
        (on(topology=MINIMAL), None,
         f"network.topology: {MINIMAL}: SimGrid routes within a group itself; allowed: routing=simgrid"),
        (on(kind="hockney"), net, f"--network hockney: the links of {net} are shared; allowed with --platform: cm02, lv08"),
        (on(**PLAIN, kind="hockney", topology=TREE), None, "--network hockney: SimGrid's links of a "),
        (ordered(TWO, "nonsense"), None, "technique: unknown application technique 'nonsense'; known: "),
    ):  # fmt: skip
        assert _refused(order, platform).startswith(reason)


def test_a_technique_that_answers_nonsense(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(table_text(__file__, "bad"))
    flat: dict[str, Any] = {"variation": 0.0}
    assert _refused(ordered([1.0, 1.0], f"{tmp_path}/bad.py:LATE", **flat)) == (
        "application technique late gave a chunk of 22; allowed: 0 to the remaining tasks, 21"
    )
    assert _refused(ordered([1.0, 1.0], f"{tmp_path}/bad.py:NONE", **flat)) == (
        "the application technique sent every core away with tasks left, 21 of them"
    )


def test_a_process_that_dies_before_it_has_read_its_order_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """The order is more than a pipe holds, so that somebody must read it."""
    monkeypatch.setattr(process, "_RUN", "import os, sys; print('out of luck', file=sys.stderr); os.abort()")
    assert _refused(ordered([1.0] * 8000)) == "SimGrid's process was killed by SIGABRT: 'out of luck'"
    gc.collect()  # a file that is left open is said now, and here


def test_without_simgrid_a_line_says_what_to_install() -> None:
    with pytest.raises(
        InputError, match=r"^SimGrid: not found by /bin/false; install Debian's python3-simgrid, or simgrid from PyPI"
    ):
        find_simgrid("/bin/false")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TWOLEVEL_")}
    command = [sys.executable, "-m", "bridge.adapters.simgrid"]
    for options, line in (
        (["--python", "/nowhere"], "simgrid: SimGrid: not found by /nowhere; install Debian's python3-simgrid"),
        (["--platform", "/nowhere.xml"], "simgrid: --platform: /nowhere.xml: no such file"),
        ([], "simgrid: TWOLEVEL_ADDRESS is not set; a bridge sets it when it starts an application simulator"),
    ):
        done = subprocess.run([*command, *options], capture_output=True, text=True, env=environment, check=False)
        assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1), done.stderr
        assert done.stderr.startswith(line)


def test_a_run() -> None:
    inline = simulated("inline", 6, als="fac")
    theirs = simulated("pool", 6, als="fac", als_command=ADAPTER)
    for name in ("job_id", "cores"):
        assert (getattr(theirs.ledger.jobs, name) == getattr(inline.ledger.jobs, name)).all()
    assert np.abs(theirs.ledger.jobs.end_ns - inline.ledger.jobs.end_ns).max() <= 20
    assert theirs.coupling["retries"] == 0


def test_a_network_from_a_platform_file(tmp_path: Path) -> None:
    """Four hosts in a line, which no topology of the project is: as many links as they are apart.

    The way back has the same links, which acknowledgements load with 0.05 of a flow.
    """
    links = "".join(f'<link id="l{a}" bandwidth="1.25e9Bps" latency="1e-6s"/>' for a in range(4))
    routes = "".join(
        f'<route src="h-{a}" dst="h-{b}" symmetrical="YES">'
        + "".join(f'<link_ctn id="l{k}"/>' for k in range(a, b))
        + "</route>"
        for a in range(4)
        for b in range(a + 1, 4)
    )
    hosts = "".join(f'<host id="h-{a}" speed="1Gf"/>' for a in range(4))
    (tmp_path / "line.xml").write_text(
        "<?xml version='1.0'?><!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">"
        f'<platform version="4.1"><zone id="line" routing="Full">{hosts}{links}{routes}</zone></platform>'
    )
    fork_join = graph("ss", "fork-join:width=2,stages=1,ccr=1")
    order = ordered([1.0, 1.0], program=fork_join, variation=0.0, **between([0, 3]))
    found = _of_simgrid(order, tmp_path / "line.xml")
    assert len(found.transfers) == 2
    for (_, _, n_bytes), sent, arrived in zip(found.transfers, found.sent, found.arrived, strict=True):
        assert abs(int(arrived - sent) - (3 * 13.01e-6 + 1.05 * n_bytes / (0.97 * 1.25e9)) * 1e9) <= 2
    few = ordered(SPEEDS, program=graph("ss"), **between([0, 1, 2, 4], hosts=5))
    assert _refused(few, tmp_path / "line.xml") == (
        f"{tmp_path / 'line.xml'} has 4 hosts; allowed: at least as many as the machine, 5"
    )
    (tmp_path / "spoilt.xml").write_text("<platform")
    assert _refused(few, tmp_path / "spoilt.xml").startswith(f"{tmp_path / 'spoilt.xml'}: Parse error at ")


#: As far as rounding carries in graphs of 40 tasks on shared links; a request that is served out of turn is far beyond.
MOST_NS = 500

PLAIN = {"latency_factor": 1.0, "bandwidth_factor": 1.0, "weight_bytes": 0.0, "gamma_bytes": 0.0, "crosstraffic": False}
DRAGONFLY = "dragonfly:groups=2,chassis=2,routers=2,nodes=1,routing=simgrid"
GENERATORS = (
    "layered:tasks=40", "cholesky:tiles=4", "fork-join:width=6,stages=3", "stencil:steps=4,points=5", "lu:tiles=3",
    "chain:tasks=6",
)  # fmt: skip
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
    topology = draw.choice(("full", "shared", "star", "fat-tree:down=2x2,up=1x2", DRAGONFLY))
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


def drawn(seed: int) -> tuple[SimulateJob, list[Resume]]:
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
@settings(max_examples=250)
def test_both_engines_agree(seed: int) -> None:
    ours, theirs = both(*drawn(seed))
    if ours.outcome.stopped and theirs.outcome.stopped:
        assert unlike_but_for_the_cut(ours, theirs) <= MOST_NS
    else:
        assert unlike(ours, theirs) <= MOST_NS
