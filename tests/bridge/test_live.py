"""A run as it shows itself: what is sampled against what the schedule says, the file, the screen, and who publishes when."""

import io
import itertools
import json
import os
import socket
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from batch_cases import seeded_cases
from batch_drives import as_users_say, attempts, simulator_of
from inside import column
from layers import two_stay
from reference.machine import Attempt

from bls.allocators import ALLOCATORS
from bls.engine.status import BatchStatus
from bls.machine.platform import HostGroup, Platform
from bls.policies import POLICIES
from bls.simulator import BatchSimulator
from bls.workloads.workload import Workload
from bridge.couplings import COUPLINGS
from bridge.live.file import (
    FILE,
    FINISHING,
    SIMULATING,
    STARTING,
    Live,
    LiveFile,
    Look,
    Process,
    Pulse,
    Resource,
    RunningJob,
    Setting,
    read_live,
)
from bridge.live.progress import Broadcast
from bridge.live.sampler import FEW_HOSTS, Sampler, cells
from bridge.live.screen import LiveScreen, screen_lines, status_line
from bridge.runs.simulation import run
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Execution, Scenario
from bridge.watches import Pace, RunWatch
from traces.base.errors import InputError

pytestmark = pytest.mark.whole

S = 10**9
FEATURES = (
    "units",
    "resources",
    "licences",
    "kill",
    "cancel",
    "dependencies",
    "partitions",
    "outages",
    "presets",
    "gpus",
)


class Clock:
    """Shows the time that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def test_a_look_is_what_the_schedule_says() -> None:
    looked = 0
    for case in seeded_cases(7, 20, FEATURES):
        stated = as_users_say(case)
        if stated is None:
            continue
        simulator = simulator_of(stated)
        sampler = Sampler(simulator, {})
        looks = [sampler.look()]
        while simulator.advance(1) != BatchStatus.DONE:
            looks.append(sampler.look())
        looks.append(sampler.look())
        done = attempts(simulator.state)
        jobs = {job.number: job for job in stated.jobs}
        borders = sampler.setting.cells.first_core
        for look in looks[1:]:
            now = look.now_ns
            running = [one for one in done if 0 <= one.start <= now < one.end]
            looked += len(running)
            holder = {core: one.number for one in running for core in one.cores}
            down = {
                core
                for host, given in enumerate(stated.machine.hosts)
                if any(begin <= now < up for begin, up in given.outages)
                for core in stated.machine.cores_of(host)
            }
            spans = [range(first, stop) for first, stop in itertools.pairwise(borders)]
            assert look.busy == tuple(sum(core in holder for core in span) for span in spans)
            assert look.down == tuple(sum(core in down for core in span) for span in spans)
            for span, number in zip(spans, look.job, strict=True):
                held = [holder[core] for core in span if core in holder]
                assert held.count(number) == max(map(held.count, held), default=0)
                assert (number >= 0) == bool(held)
            over = [one for one in done if one.start >= 0 and one.end <= now]
            over += [one for one in done if one.start < 0]  # withdrawn, at an instant that is not among what is known
            n_over = sum(look.states.values())
            assert n_over <= len(over)
            assert n_over >= sum(one.start >= 0 for one in over)
            assert [job.job_id for job in look.widest] == [one.number for one in _widest(running, simulator)]
            expected = {"cores": sum(len(one.cores) for one in running)}
            for one in running:
                job = jobs[one.number]
                for name, amount in job.needs:
                    expected[name] = expected.get(name, 0) + amount * (job.cores // job.unit_cores)
                for name, amount in job.licences:
                    expected[name] = expected.get(name, 0) + amount
            milli = [len(one.gpus) * asked.milli for one in running if (asked := jobs[one.number].gpus) is not None]
            expected["GPUs"] = -(-sum(milli) // 1000)
            used = dict(zip((resource.name for resource in sampler.setting.resources), look.used, strict=True))
            assert {name: n for name, n in used.items() if n} == {name: n for name, n in expected.items() if n}
        assert looks[-1].past_ns[-1] == simulator.now_ns
        assert list(looks[-1].past_ns) == sorted(looks[-1].past_ns)
    assert looked > 70


def _widest(running: list[Attempt], simulator: BatchSimulator) -> list[Attempt]:
    # In the order of rows: those of the workload, then later attempts as they were made.
    numbers, tried = (column(simulator.state, f"jobs.{name}").tolist() for name in ("number", "attempt"))
    row = {key: at for at, key in enumerate(zip(numbers, tried, strict=True))}
    return sorted(running, key=lambda one: (-len(one.cores), row[one.number, one.attempt]))


@pytest.fixture
def in_turn() -> tuple[BatchSimulator, Sampler]:
    """A thousand jobs that come every 10 s, to a core each."""
    jobs = Workload.from_jobs([(k, 10 * k, 10, 1, 10) for k in range(1, 1001)])
    simulator = BatchSimulator(jobs, Platform(), POLICIES["fcfs"], ALLOCATORS["first-fit"], recorded=True)
    return simulator, Sampler(simulator, {})


def test_the_past_is_thinned_out_evenly(in_turn: tuple[BatchSimulator, Sampler]) -> None:
    simulator, sampler = in_turn
    sizes = []
    while simulator.advance(1) != BatchStatus.DONE:
        look = sampler.look()
        sizes.append(len(look.past_ns))
        assert (look.past_ns[-1], look.past_busy[-1]) == (simulator.now_ns, look.used[0])
    assert max(sizes) == 129  # 128, and the look's own
    assert len({*np.diff(look.past_ns[:-1])}) == 1


def test_speeds_are_those_of_the_last_seconds(in_turn: tuple[BatchSimulator, Sampler]) -> None:
    simulator, sampler = in_turn
    assert sampler.pulse(0.0) == Pulse(0.0, 0, 0, 0, 0, 0.0, 0.0)
    simulator.advance(50)
    after = sampler.pulse(5.0)
    assert (after.ended, after.now_ns, after.simulated_per_s, after.jobs_per_s) == (50, 510 * S, 102.0, 10.0)
    simulator.advance(10)
    # From 5 s on: three seconds before 9 s is between two looks.
    assert [sampler.pulse(at_s).jobs_per_s for at_s in (7.0, 9.0, 20.0)] == [60 / 7, 10 / 4, 0.0]


def live(setting: Setting | None = None, **changes: Any) -> Live:
    """A run of two jobs on a host of two cores, beside one that is down."""
    given = setting or Setting("log.swf", 10, 4, 2, OPTIONS, (Resource("cores", 4),), cells(np.array([0, 2, 4])))
    pulse = Pulse(10.0, 3600 * S, 5, 1, 2, 360.0, 0.5)
    look = Look(
        3600 * S, (1,), 1, {"completed": 4, "killed": 1}, (1, 0, 0, 0), (0, 0, 1, 1), (7, -1, -1, -1),
        (RunningJob(7, 3, 1, 3000 * S, 1200 * S),), (0, 1800 * S, 3600 * S), (0, 4, 2), (4, 2, 1),
    )  # fmt: skip
    return replace(Live(Process.this(), SIMULATING, 1000.0, given, pulse, look), **changes)


OPTIONS = {
    "bls": "fcfs", "als": "gss", "backfill": "easy", "allocator": "first-fit", "variation": "0.25", "seed": "1",
    "coupling": "inline",
}  # fmt: skip


def test_the_file_is_plain_json_and_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_live(tmp_path) is read_live(tmp_path / "nowhere") is None
    file = LiveFile(tmp_path)
    for shown in (Live(Process.this(), STARTING, 1.5), live()):
        file.write(shown)
        assert read_live(tmp_path) == shown
        assert os.listdir(tmp_path) == [FILE]
    plain = json.loads((tmp_path / FILE).read_bytes())
    assert list(plain) == ["process", "phase", "written_s", "setting", "pulse", "look", "version"]
    assert plain["setting"]["cells"] == {"first_core": [0, 1, 2, 3, 4], "host": [0, 0, 1, 1]}
    assert plain["look"]["widest"] == [[7, 3, 1, 3000 * S, 1200 * S]]
    for _ in range(2):
        file.remove()
    assert os.listdir(tmp_path) == []


def test_a_reader_of_a_replaced_file_reads_the_whole_of_the_old_one(tmp_path: Path) -> None:
    file = LiveFile(tmp_path)
    file.write(live(written_s=1.0))
    with (tmp_path / FILE).open("rb") as opened:
        file.write(live(written_s=2.0))
        assert json.loads(opened.read())["written_s"] == 1.0


def test_a_file_of_another_program(tmp_path: Path) -> None:
    said = dict.fromkeys((b"", b"{", b'{"version": 1}', b"[]", b'{"version": "x"}', b"\xff" * 5), "not valid JSON")
    said[b'{"version": 2, "new": []}'] = "has version 2; this twolevel reads version 1$"
    for text, line in said.items():
        (tmp_path / FILE).write_bytes(text)
        with pytest.raises(InputError, match=rf"live\.json: {line}"):
            read_live(tmp_path)


def test_whether_a_process_is_gone() -> None:
    this = Process.this()
    assert this.is_here
    assert not this.is_gone()
    assert replace(this, born="1").is_gone()  # its number is another's now
    assert not replace(this, host_name="elsewhere").is_gone()  # nobody here knows
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    born = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[19]
    zombie = Process(child, socket.gethostname(), born)
    assert zombie.is_gone()  # it is listed until somebody asks how it ended
    os.waitpid(child, 0)
    assert zombie.is_gone()


def text_of(shown: Live, width: int = 79, height: int = 23, **options: Any) -> list[str]:
    return [line.plain for line in screen_lines(shown, width, height, **options)]


def test_the_screen() -> None:
    lines = text_of(live(process=Process(12, "elsewhere", "")), note="no sign of life for 9 s")
    assert lines == [
        "log.swf on 2 hosts, 4 cores                             process 12 on elsewhere",
        "fcfs × gss, backfilling easy, first-fit, variation 0.25, seed 1, inline",
        "simulated 60 min 00 s                             elapsed 10 s, about 10 s left",
        "jobs      █████████████████················· 5 of 10 done, 0.5/s",
        "          1 running, 2 waiting, 2 to come, 1 killed, 1 host down",
        "cores     ████████·························· 0.250  1 of 4",
        f"queue     {' ' * 16}{'█' * 17}▄ so far, at most 4 waiting",
        f"use       {'█' * 16}{'▄' * 17}▂ so far, of all cores",
        "no sign of life for 9 s",
        "hosts, one per line               · idle ░ to 1/4 ▒ to 1/2 ▓ more █ full × down",
        "  0 █· 1/2",
        "  1 ×× 0/2",
        "running            cores   user  since        of its estimate",
        "job 7                  1      3  10 min 00 s  ████████████············ 0.50",
    ]
    assert status_line(live(), "and a note") == (
        "simulated 60 min 00 s; 5 of 10 jobs done, 1 running, 2 waiting; cores 0.250; 1 host down; "
        "10 s elapsed, 0.5 jobs/s; and a note"
    )

    nothing, begun, over = Live(Process.this(), STARTING, 0.0), live(phase=STARTING), live(phase=FINISHING)
    assert (text_of(nothing), status_line(nothing, "so")) == (["the run is preparing"], "the run is preparing; so")
    assert "compiling or preparing" in text_of(begun)[2]
    assert text_of(over)[2].endswith("elapsed 10 s, writing the results")
    assert status_line(over).endswith("; writing the results")
    # A job has one colour, on the map and in the list.
    rows = [line for line in screen_lines(live(), 79, 23) if line.plain.startswith(("  0 ", "job 7"))]
    first, second = ({str(span.style).split()[-1] for span in row.spans if "#" in str(span.style)} for row in rows)
    assert first == second
    assert len(first) == 1


def test_a_cells_mark_says_how_much_of_it_is_held() -> None:
    hosts = FEW_HOSTS + 8
    setting = Setting(
        "x", 10, 8 * hosts, hosts, OPTIONS, (Resource("cores", 8 * hosts),), cells(np.arange(hosts + 1) * 8)
    )
    busy = (0, 1, 2, 3, 4, 5, 7, 8, *[0] * 32)
    down = (*[0] * 39, 8)
    look = Look(0, (30,), 1, {}, busy, down, tuple(5 if n else -1 for n in busy), (), (0,), (0,), (30,))
    shown = live(setting, look=look)
    at = text_of(shown, width=44).index("  0 ·░░▒▒▓▓█" + "·" * 31 + "×")
    assert text_of(shown, width=44)[at - 1].startswith("hosts, 1 per cell")
    # Groups of two: what is down counts for nothing in the group.
    assert text_of(shown, width=14, height=11)[-2:] == ["  0 ░▒▓▓······", " 20 ··········"]
    assert text_of(shown, width=44, ascii_only=True)[at] == "  0 .--++**#" + "." * 31 + "x"


@pytest.mark.parametrize(("hosts", "width", "height"), [(1, 79, 23), (33, 79, 23), (5544, 1, 1), (20_000, 79, 60)])
def test_it_fits_every_screen(hosts: int, width: int, height: int) -> None:
    made = cells(np.arange(hosts + 1) * 16)
    n, busy = len(made.host), tuple(np.diff(made.first_core).tolist())
    setting = Setting("x" * 50, 300_000, 16 * hosts, hosts, OPTIONS, (Resource("cores", 16 * hosts),), made)
    jobs = tuple(RunningJob(k, -1, 10**6, 0, 10**15) for k in range(24))
    shown = live(setting, look=Look(S, (16 * hosts,), 0, {}, busy, (0,) * n, (5,) * n, jobs, (0,), (3,), (1,)))
    for ascii_only in (True, False):
        lines = text_of(shown, width, height, ascii_only=ascii_only)
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert not ascii_only or "".join(lines).isascii()
    if height >= 23:
        head = next(at for at, line in enumerate(lines) if line.startswith("hosts, "))
        tail = next(at for at, line in enumerate(lines) if line.endswith("of its estimate"))
        assert all("█" in line for line in lines[head + 1 : tail])
        assert lines[head + 1].startswith("0 ".rjust(max(len(str(hosts - 1)), 3) + 1))
        assert any(line.startswith("job 0 ") for line in lines)


class Terminal(io.StringIO):
    """A stream that may be a terminal, or that nobody reads any more."""

    def __init__(self, is_terminal: bool = True, error: OSError | None = None) -> None:
        super().__init__()
        self.is_terminal, self.error = is_terminal, error

    def isatty(self) -> bool:
        return self.is_terminal

    def write(self, text: str) -> int:
        if self.error is not None:
            raise self.error
        return super().write(text)


def test_in_a_pipe_or_a_terminal_that_cannot_go_back_it_is_a_line_of_text(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = LiveScreen(stream := io.StringIO())
    screen.show(live())
    screen.leave(live(), "n")
    screen.close()
    assert stream.getvalue() == f"{status_line(live())}\n{status_line(live())}; n\n"
    assert (screen.terminal, screen.every_s) == (False, 1.0)
    monkeypatch.setenv("TERM", "dumb")
    LiveScreen(dumb := Terminal()).show(Live(Process.this(), STARTING, 0.0))
    assert dumb.getvalue() == "the run is preparing\n"


def test_the_pace_follows_the_clock() -> None:
    clock = Clock()
    pace = Pace(clock)
    assert pace.ends() == 16
    seen = []
    for _ in range(40):  # 1,000 ends a second
        clock.now_s += seen[-1] / 1000 if seen else 0.016
        seen.append(pace.ends())
    assert (seen[:3], seen[-1]) == ([32, 50, 50], 50)
    slow = []
    for _ in range(6):  # decisions that took a minute
        clock.now_s += 60
        slow.append(pace.ends())
    assert (slow[0], slow[-1]) == (6, 1)
    assert [pace.ends() for _ in range(100)][-1] == 10**9  # no time at all


def scenario(n: int = 40, als: str = "ss") -> ReadyScenario:
    jobs = Workload.from_jobs([(k, k, 10 + k % 7, 1 + k % 4, 20) for k in range(1, n + 1)])
    options = Scenario.flat(als=als, variation=0.25, tasks_per_core=2, seed=5)
    return ReadyScenario.of(jobs, Platform((HostGroup(3, 2, 10.0),)), options)


class Looking:
    """A ``RunWatch`` that looks whenever it is called."""

    def __init__(self) -> None:
        self.looks: list[Look] = []
        self.ended: list[int] = []
        self.finished = False

    def begin(self, scenario: ReadyScenario, simulator: BatchSimulator, coupling: str) -> None:
        self.sampler = Sampler(simulator, {"coupling": coupling})
        self.looks.append(self.sampler.look())

    def __call__(self, ended: int, now_ns: int) -> None:
        assert not self.finished
        self.looks.append(self.sampler.look())
        self.ended.append(ended)

    def finish(self) -> None:
        self.looks.append(self.sampler.look())
        self.finished = True


@pytest.mark.parametrize("name", two_stay(COUPLINGS))
def test_every_coupling_can_be_looked_at(name: str) -> None:
    watch = Looking()
    assert isinstance(watch, RunWatch)
    result = run(scenario(), execution=Execution(name, workers=1), watch=watch)
    assert watch.finished
    assert watch.sampler.setting.options == {"coupling": name}
    start, end, cores = result.jobs["start_ns"], result.jobs["end_ns"], result.jobs["held_cores"]
    for look, ended in zip(watch.looks[1:-1], watch.ended, strict=True):
        now = look.now_ns
        assert ended == (end <= now).sum()
        assert look.used[0] == sum(look.busy) == cores[(start <= now) & (now < end)].sum()
    assert max(look.used[0] for look in watch.looks) > 0
    assert watch.ended[-1] > 0
    first, last = watch.looks[0], watch.looks[-1]
    assert (first.used, first.states, last.used, last.states) == ((0,), {}, (0,), {"completed": 40})
    assert run(scenario()).jobs.equals(result.jobs)


def broadcast(folder: Path, clock: Clock, **options: Any) -> Broadcast:
    """One that beats when the test says so."""
    return Broadcast(folder, clock=clock, wall_clock=lambda: 1000 + clock.now_s, threaded=False, **options)


def simulator(given: ReadyScenario) -> BatchSimulator:
    return BatchSimulator(given.workload, given.platform, given.policy, given.allocator, recorded=True)


def seen(folder: Path) -> Any:
    found = read_live(folder)
    assert found is not None
    return found


def test_it_is_written_at_most_five_times_a_second_and_removed_at_the_end(tmp_path: Path) -> None:
    clock, given = Clock(), scenario()
    with broadcast(tmp_path, clock, stream=io.StringIO()) as watch:
        assert read_live(tmp_path) == Live(Process.this(), STARTING, 1100.0)
        simulated = simulator(given)

        def after(seconds: float) -> Any:
            clock.now_s += seconds
            watch.beat()
            return seen(tmp_path)

        def called() -> None:
            watch(simulated.ended, simulated.now_ns)

        clock.now_s += 1
        watch.begin(given, simulated, "inline")
        begun = after(0)
        options = begun.setting.options
        assert (begun.phase, options["bls"], options["coupling"]) == (STARTING, "fcfs", "inline")
        simulated.advance(5)
        called()
        assert after(0.1) == begun  # too soon
        now = after(0.11)
        assert (now.phase, now.pulse.ended, now.look.now_ns) == (SIMULATING, simulated.ended, simulated.now_ns)
        called()
        at = simulated.now_ns
        simulated.advance(5)
        clock.now_s += 0.05
        called()  # too soon for another sample; the numbers are read nevertheless
        later = after(0.2)
        assert (later.pulse.now_ns, later.look.now_ns) == (simulated.now_ns, at)
        simulated.advance(10**9)
        watch.finish()  # is shown at once
        end = seen(tmp_path)
        assert (end.phase, end.look.states) == (FINISHING, {"completed": 40})
    assert os.listdir(tmp_path) == []


def beats(watch: Broadcast, clock: Clock, count: int, every_s: float) -> None:
    """A run that has begun, and beats as time passes."""
    watch.begin(given := scenario(), simulator(given), "inline")
    for _ in range(count):
        clock.now_s += every_s
        watch.beat()


def test_what_takes_long_is_done_rarely(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, written = Clock(), []

    def slowly(self: LiveFile, shown: Live) -> None:
        written.append(clock.now_s)
        clock.now_s += 0.05  # a slow disk

    monkeypatch.setattr(LiveFile, "write", slowly)
    with broadcast(tmp_path, clock, stream=io.StringIO()) as watch:
        beats(watch, clock, 2000, 0.01)
    assert len(written) == 5
    assert min(np.diff(written)) >= 5  # a hundred times as long


@pytest.mark.parametrize("stream", [Terminal(True, OSError(5, "")), Terminal(False, BrokenPipeError(32, "")), None])
def test_the_run_goes_on_if_it_cannot_be_written_or_nobody_reads_any_more(
    tmp_path: Path, stream: Terminal | None, caplog: pytest.LogCaptureFixture
) -> None:
    clock, folder = Clock(), tmp_path if stream else tmp_path / "gone"
    for is_live in (False, True) if stream else (False,):
        with broadcast(folder, clock, live=is_live, stream=stream or io.StringIO()) as watch:
            clock.now_s += 5
            assert len(run(scenario(), watch=watch).jobs) == 40
            clock.now_s += 5
            watch.beat()
    if stream is None:
        said = f"the run goes on, but twolevel watch will not see it: {folder / 'live.json.next'}: No such file"
        assert said in caplog.text
        assert len(caplog.records) == 1


def test_it_beats_by_itself_while_nothing_is_reported(tmp_path: Path) -> None:
    written = threading.Semaphore(0)  # the test waits for the thread's writes, not for a time

    class Counted(LiveFile):
        def write(self, shown: Live) -> None:
            super().write(shown)
            written.release()

    with Broadcast(tmp_path, stream=io.StringIO()) as watch:
        watch._file = Counted(tmp_path)
        watch.begin(given := scenario(), simulator(given), "inline")
        assert all(written.acquire(timeout=60) for _ in range(2))
        assert seen(tmp_path).setting is not None
    assert "twolevel-live" not in {thread.name for thread in threading.enumerate()}
    assert os.listdir(tmp_path) == []


def test_live_in_a_pipe_is_a_line_a_second_after_the_first(tmp_path: Path) -> None:
    clock, stream = Clock(), io.StringIO()
    with broadcast(tmp_path, clock, live=True, stream=stream) as watch:
        beats(watch, clock, 35, 0.1)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("simulated 0 s; 0 of 40 jobs done, 0 running, 0 waiting; cores 0.000; 1.")
