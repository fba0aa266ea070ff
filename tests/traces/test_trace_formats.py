"""Traces in every format: what their readers see is what the ledger says."""

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from ledgers import NEVER, Job, ledger, ledgers, machine, messaging_ledgers, never_started, with_gpus
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from tables import table_text
from test_transfers import sound as transfers_by_hand
from trace_readers import Shown, expected, read_chrome, read_csv, read_otf2, read_paje, read_perfetto

from bls.engine.features.directions.records import ScaleRecords
from traces.base.errors import InputError
from traces.exporters import exporter
from traces.exporters.shown.part import Excerpt, cut_ledger
from traces.exporters.text import write_text
from traces.ledger import Ledger

FORMATS = ("perfetto", "chrome", "csv", "paje", "otf2", "text")
READ = FORMATS[:5]  # the texts of the last are below
QUICK = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def shown(name: str, of: Ledger) -> Shown:
    with tempfile.TemporaryDirectory() as folder:
        path = exporter(name)(of, Path(folder) / "trace")
        if name == "csv":
            return read_csv(path, of.machine)
        return {"perfetto": read_perfetto, "chrome": read_chrome, "paje": read_paje, "otf2": read_otf2}[name](path)


def check(name: str, of: Ledger) -> None:
    found, wanted = shown(name, of), expected(of)
    if name == "otf2":
        wanted = wanted._replace(causes=[])
    if name == "csv":
        wanted = wanted._replace(gpus=sorted((lane.partition(" (")[0], *rest) for lane, *rest in wanted.gpus))
    if name == "paje":
        # Of states without length, links and events at one instant pj_dump may show one, and of a link its lanes, not its jobs.
        for mine, said in ((found.cores, wanted.cores), (found.jobs, wanted.jobs), (found.gpus, wanted.gpus)):
            assert set(mine) <= set(said)
            assert [one for one in mine if one[2] < one[3]] == [one for one in said if one[2] < one[3]]
        assert {at for _, _, at in found.causes} == {at for _, _, at in wanted.causes}
        assert set(found.submits) <= set(wanted.submits)
        assert {at for at, _ in found.submits} == {at for at, _ in wanted.submits}
    else:
        assert found.cores == wanted.cores
        assert found.jobs == wanted.jobs
        assert found.gpus == wanted.gpus
        assert sorted(found.causes) == sorted(wanted.causes)
    assert found.counters == wanted.counters
    assert found.transfers == wanted.transfers
    if name not in ("csv", "paje"):
        assert found.submits == wanted.submits


@pytest.mark.parametrize("name", READ)
@QUICK
@given(of=ledgers() | messaging_ledgers())
def test_traces_contain_the_ledger(name: str, of: Ledger) -> None:
    check(name, of)


@pytest.mark.parametrize("name", READ)
def test_transfers_drawn_by_hand(name: str) -> None:
    check(name, transfers_by_hand())


@pytest.mark.parametrize("name", READ)
def test_jobs_that_share_gpus_by_hand(name: str) -> None:
    """Three jobs at once on one GPU, a job after another, an idle GPU, and a host without GPUs."""
    rows = [
        Job(1, 0, 0, 10, [(0, 1)]),
        Job(2, 0, 9, 12, [(1, 3)], eligible=0),
        Job(3, 2, 10, 30, [(0, 1)], eligible=2),
        Job(4, 11, 11, 12, [(3, 5)]),
        Job(5, 12, 12, 12, [(1, 2)]),
    ]
    held = [(0, 0, 500), (1, 0, 250), (2, 0, 333), (4, 0, 250), (3, 3, 1000), (1, 2, 1)]
    of = with_gpus(ledger(machine(2, 1, 1, 1), rows), [2, 1, 1, 0], held)
    assert {lane for lane, *_ in expected(of).gpus} == {
        "host 0 gpu 0",
        "host 0 gpu 0 (2)",
        "host 1 gpu 0",
        "host 2 gpu 0",
    }
    check(name, of)


#: Names of the jobs of run_of_few but one, and how often the files of a trace have them.
NAMES = {7: 'w0!3, "a=ä"', 11: " 100%41\nä"}
ESCAPED = {7: 'w0!3,%20"a%3D%C3%A4"', 11: "%20100%2541%0A%C3%A4"}
OF_CSV = {7: 'w0!3, ""a=ä""'}
OF_JSON = {7: r"w0!3, \"a=\u00e4\""}
OF_PAJE = {7: "w0!3, 'a=ä'"}  # a name cannot have the quote that ends it


@pytest.mark.parametrize(
    ("name", "written", "counts"),
    [
        ("otf2", NAMES, (2, 2)),
        ("perfetto", NAMES, (2, 2)),
        ("chrome", OF_JSON, (6, 2)),
        ("csv", OF_CSV, (2, 1)),
        ("paje", OF_PAJE, (1, 1)),
        ("text", ESCAPED, (6, 3)),
    ],
)
def test_names_of_jobs(name: str, written: dict[int, str], counts: tuple[int, int], tmp_path: Path) -> None:
    """With the further attributes that traces may have: of commands to jobs, and of why they were cut."""
    scale = ScaleRecords(*(np.array([k], np.int64) for k in (0, 5, 2, 10**9)))
    of = replace(run_of_few(), cut_because={0: "lost"}).with_events(scale)

    def files(of: Ledger, names: dict[int, str]) -> dict[str, bytes]:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        exporter(name)(replace(of, ids=names), folder / "trace")
        found = [one for one in folder.rglob("*") if one.is_file() and one.name != "traces.otf2"]
        return {str(one.relative_to(folder)): one.read_bytes() for one in found}

    for part, seven in ((of, counts[0]), (cut_ledger(of, Excerpt(jobs=[(11, 12)])), 0)):
        said = b"".join(files(part, NAMES | {8: "no job"}).values()).decode("utf-8", "replace")
        assert (said.count(written[7]), said.count(ESCAPED[11])) == (seven, counts[1])
        assert "no job" not in said
        # Without a name of a job in it, nothing changes.
        assert files(part, {}) == files(part, {8: "no job"})


def run_of_few() -> Ledger:
    """Two jobs, one of which waits for the other, one that never starts, and a machine whose names are awkward."""
    of = machine(2, 1)
    of = replace(of, host_names=('a "b"', "c,d"))
    rows = [
        Job(7, 0, 0, 10, [(0, 2)], [(0, 0, 0, 3), (1, 1, 0, 4), (0, 1, 3, 10)]),
        Job(1542, 2, 10, 20, [(0, 1), (2, 3)], eligible=2, why="backfill"),
        never_started(11, 15, asked=3),
    ]
    return replace(ledger(of, rows), techniques=("gss",), technique=np.zeros(3, np.int32))


def test_the_text_of_each_format(tmp_path: Path) -> None:
    of = run_of_few()
    paths = {name: exporter(name)(of, tmp_path) for name in FORMATS}
    assert paths["csv"].read_text() == table_text(__file__, "csv")
    assert (tmp_path / "csv" / "causes.csv").read_text() == "job,attempt,cause,cause_attempt,at_ns\n1542,0,7,0,10\n"
    assert paths["chrome"].read_text().splitlines()[1] == (
        '{"ph":"X","name":"job 7","cat":"task,gss","pid":3,"tid":0,"ts":0.000,"dur":0.003,"args":{"task":0,"chunk":0}},'
    )
    lines = paths["paje"].read_text().splitlines()
    assert """6 0.000000000 h0 H m "a 'b'\"""" in lines
    assert lines[-6:] == table_text(__file__, "last_lines_of_paje").splitlines()[-6:]
    check("perfetto", of)


@pytest.mark.parametrize("name", FORMATS[:4])
def test_unwritable_input_is_refused(name: str, tmp_path: Path) -> None:
    of = ledger(machine(1), [Job(3, -5, 0, 4, [(0, 1)], eligible=0)])
    with pytest.raises(InputError, match=r"^job 3 is submitted at -5 ns; a trace cannot show what is before time 0$"):
        exporter(name)(of, tmp_path / "before")
    (tmp_path / "file").write_text("")
    of = run_of_few()
    with pytest.raises(InputError, match=r"cannot be written: (Not a directory|File exists)"):
        exporter(name)(of, tmp_path / "file" / "trace")
    exporter(name)(of, tmp_path / "twice")
    with pytest.raises(InputError, match=r"^/.*twice.* exists already$"):
        exporter(name)(of, tmp_path / "twice")


@pytest.mark.parametrize("name", READ)
def test_numbers_of_any_size(name: str) -> None:
    """Instants beyond 2^53 ns, which no float has, and numbers of jobs of ten digits."""
    far = 2**56 + 12345678901  # 57 bits: one more than eight times seven
    if name in ("chrome", "paje"):  # whose readers have floats
        far = 2**52 // 1000 * 1000
    rows = [
        Job(
            9_876_543_210, far, far + 1, far + 300, [(0, 1)], [(0, 0, far + 1, far + 130), (0, 1, far + 130, far + 300)]
        )
    ]
    if name == "chrome":
        rows = [Job(9_876_543_210, 1000, 2000, 9000, [(0, 1)], [(0, 0, 2000, 9000)])]
    check(name, ledger(machine(1), rows))


def test_a_ledger_of_nothing() -> None:
    for name in READ:
        check(name, ledger(machine(1), []))


@pytest.mark.parametrize("length", [1, 16_384, 40_000])
def test_names_of_any_length(length: int, tmp_path: Path) -> None:
    of = run_of_few()
    names = ("h" * length, *of.machine.host_names[1:])
    of = replace(of, machine=replace(of.machine, host_names=names))
    packets = perfetto_trace_pb2.Trace.FromString(exporter("perfetto")(of, tmp_path).read_bytes()).packet
    tracks = [one.track_descriptor.name for one in packets if one.HasField("track_descriptor")]
    assert set(names) | set(of.machine.core_names) <= set(tracks)
    begins = sum(one.track_event.type == 1 for one in packets)
    assert begins == sum(one.track_event.type == 2 for one in packets) > 0


def test_the_text_by_hand(tmp_path: Path) -> None:
    rows = [
        Job(7, 0, 0, 10, [(0, 2)], [(0, 0, 0, 3), (1, 1, 0, 4), NEVER], state="requeued"),
        never_started(8, 5, asked=3),
        Job(7, 0, 10, 10, [(0, 1), (2, 3)], [(2, 0, 10, 10)], attempt=1, why="backfill", eligible=10),
        Job(9, 11, 13, 30, [(0, 2)], [(0, 0, 13, 16), (1, 1, 20, 30)], eligible=12, transfers=[(0, 1, 4.0, 16, 19)]),
    ]
    path = write_text(ledger(machine(3), rows, with_transfers=True), tmp_path)
    assert path.read_text().partition("\n")[2] == table_text(__file__, "text")
    applications = {one.name: one.read_text() for one in (path.parent / "applications").iterdir()}
    assert {name: text.count("\n") for name, text in applications.items()} == {"7.txt": 7, "7-1.txt": 5, "9.txt": 9}
    assert applications["7-1.txt"] == table_text(__file__, "text_of_attempt_1")
    assert applications["9.txt"].partition("\n")[2] == table_text(__file__, "text_of_job_9")
    held = [(0, 0, 1000), (0, 1, 1000), (0, 2, 250), (3, 1, 500)]
    shared = with_gpus(ledger(machine(3), rows, with_transfers=True), [3], held)
    said = write_text(shared, tmp_path / "gpus").read_text().partition("\n")[2]
    lines = zip(said.splitlines(), table_text(__file__, "text").splitlines(), strict=True)
    assert [one.removeprefix(other) for one, other in lines if one != other] == [" gpus=0-1,2:250", " gpus=1:500"]
    with pytest.raises(InputError, match="exists already"):
        write_text(ledger(machine(3), rows), tmp_path)


def test_a_file_in_the_way_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "applications").write_text("")
    with pytest.raises(InputError, match=r"applications: cannot be written: File exists$"):
        write_text(ledger(machine(1), [Job(1, 0, 0, 1, [(0, 1)], [(0, 0, 0, 1)])]), tmp_path)
