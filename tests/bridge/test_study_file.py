"""A study's file: what it comes to, and what is said of one that is wrong."""

import json
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusing import refusals
from tables import table_rows

from bls import Batch, sample_path
from bls.options import BACKFILL
from bridge.scenarios.scenario import Scenario
from bridge.studies.drawing import read_results
from bridge.studies.input.named_files import FileSums, located, names_in
from bridge.studies.input.run_options import Value, checked_value, column_name, known_options, with_origin
from bridge.studies.input.study_file import grid_text, load_study, parse_study
from bridge.studies.journal import JOURNAL, Entry, Journal
from bridge.studies.preparing import find_inputs, options_of
from bridge.studies.study import Study, seeds_of
from bridge.studies.unit import all_metrics
from traces.base.errors import InputError
from traces.base.options import OptionPlace, places, values
from traces.tables import write_frame

WORKLOAD = '[[workload]]\nfile = "sample"\n'


def study(text: str) -> Study:
    return parse_study(text, [Path.cwd()], "name")


def test_none_stands_for_no_file_or_name() -> None:
    model = "mtbf:1d,mttr:1h"
    found = study(f'[workload]\nsource = "sample"\n[batch]\nfailures = ["none", "{model}"]\n[power]\nlimits = "none"\n')
    assert [cell.value("failures") for cell in found.cells] == [None, model]
    assert [cell.text("failures") for cell in found.cells] == ["none", model]
    plain = study('[workload]\nsource = "sample"\n').cells[0]
    assert (plain.text("failures"), plain.same) == ("", found.cells[0].same)
    assert Scenario(batch=Batch(failures="none")) == Scenario()
    given = f'failures = "none"\n[[cell]]\nals = "ss"\n[[cell]]\nfailures = "{model}"\n'
    both = study(f'[[workload]]\nfile = "sample"\n[[workload]]\nfile = "sample"\nname = "b"\n{given}').cells
    assert [cell.text("failures") for cell in both] == ["none", model, "none", model]


@pytest.mark.parametrize("place", [one for one in places(Scenario)[1:] if one.option.default is one.default is None])
def test_none_stands_for_no_value(place: OptionPlace) -> None:
    name = place.option.name
    assert Scenario.flat(**{place.option.keyword: "none"}) == Scenario()
    if name in known_options():
        (cell,) = study(f'[workload]\nsource = "sample"\n[run]\n{name} = "none"\n').cells
        assert cell.given == {name: None}


def test_cells_are_every_combination_in_order_and_then_the_single_ones() -> None:
    found = study(
        WORKLOAD
        + '[[workload]]\nname = "half"\nfile = "sample"\nselect = "first:100"\n'
        + "[run]\ntasks-per-core = 2\nvariation = 0.1\n"
        + '[grid]\nals = ["ss", "gss"]\nbls = ["fcfs", "sjf"]\n'
        + '[[cell]]\nals = "recorded"\nvariation = 0\n'
    )
    cells = [*((als, bls, 0.1) for als in ("ss", "gss") for bls in ("fcfs", "sjf")), ("recorded", "fcfs", 0.0)]
    expected = [(name, *cell) for name in ("sample", "half") for cell in cells]
    names = ("als", "bls", "variation")
    assert [(one.workload.name, *map(one.value, names)) for one in found.cells] == expected
    assert {one.value("tasks-per-core") for one in found.cells} == {2}
    assert [one.value("select") for one in found.cells] == ["all"] * 5 + ["first:100"] * 5
    assert found.columns == ("bls", "backfill", "als", "variation", "tasks-per-core", "select")
    assert found.varied == ("bls", "als", "variation", "select")
    assert found.names[5] == "half-fcfs-ss-0.1"
    assert (found.name, found.seeds, found.metrics, found.keep, len(found)) == ("name", (0,), None, (), 10)


def test_times_have_a_unit_or_that_of_the_option() -> None:
    found = study(WORKLOAD + '[run]\nlatency = "5us"\n[grid]\noverhead = [0, "1ms", 2000]\ntimeout = ["2m"]\n')
    assert [one.value("overhead") for one in found.cells] == [0, 10**6, 2000]
    assert {one.value("latency") for one in found.cells} == {5000}
    assert {one.value("timeout") for one in found.cells} == {120.0}


def test_several_grids_and_lists_as_values() -> None:
    found = study(
        WORKLOAD
        + '[[grid]]\nspeeds = [[], ["square:period=60s,low=0.5"]]\n'
        + '[[grid]]\nlengths = ["gamma:cov=1", "exponential"]\nbackfill = [4, "easy"]\nkill-at-walltime = true\n'
    )
    assert [one.value("speeds") for one in found.cells] == [(), ("square:period=60s,low=0.5",), (), (), (), ()]
    assert [one.value("backfill") for one in found.cells[2:]] == ["4", "easy", "4", "easy"]
    assert found.names[1] == "fcfs-static-0-speeds=square:period=60s,low=0.5-lengths=-kill-at-walltime=false"


def test_every_option_of_run_is_known_but_those_of_its_files() -> None:
    import inspect

    from bridge.cli.run_commands import run_command

    ours = set(inspect.signature(run_command).parameters)
    not_cells = {
        *("workload", "config", "out", "seed", "observe", "nodes", "decisions", "tasks", "trace"),
        *("trace_detail", "trace_window", "trace_cores", "live", "check", "force", "stream", "same_as"),
        *("listen", "token_file", "certificate"),
    }
    of_replay = {"batch", "slurm_conf", "set", "settle", "phase", "topology", "priorities", "cleanup"}
    assert {column_name(name) for name in known_options()} == ours - not_cells | of_replay


def test_no_column_has_two_meanings() -> None:
    import bridge

    metrics = all_metrics(bridge.simulate(sample_path(), select="first:3"))
    names = {column_name(name) for name in known_options()} | {"cell", "workload", "seed", "error"}
    assert not names & set(metrics)
    assert "p90_efficiency" in metrics


@pytest.mark.parametrize(
    ("given_", "seeds"),
    [(3, (0, 1, 2)), ([4, 1], (4, 1)), ("0-2 9", (0, 1, 2, 9)), ("7", (7,)), ([2**64 - 1], (2**64 - 1,))],
)
def test_seeds(given_: object, seeds: tuple[int, ...]) -> None:
    assert seeds_of(given_, "seeds") == seeds


def test_values_have_the_type_of_their_option() -> None:
    assert checked_value("variation", 1, "x") == 1.0
    assert isinstance(checked_value("variation", 1, "x"), float)
    assert checked_value("backfill", 3, "x") == "3"
    assert checked_value("speeds", "a", "x") == ("a",)


def test_files_are_found_wherever_an_option_names_them(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for name in ("mine.py", "deep/lengths.txt", "map.toml", "gss"):
        (tmp_path / name).write_text("")
    (tmp_path / "map.toml").write_text("lengths = 'file:deep/lengths.txt,unit=flop'")
    folders = [tmp_path]
    absolute = f"select:({tmp_path / 'mine.py'}:RULE,gss)"
    assert located("select:(mine.py:RULE,gss)", folders) == absolute
    assert located(absolute, []) == absolute
    assert located("file:deep/lengths.txt,unit=flop", folders) == f"file:{tmp_path / 'deep/lengths.txt'},unit=flop"
    assert located("gss", folders) == "gss"
    assert located("0.5", folders) == "0.5"
    assert names_in("map.toml", folders) == []
    assert [one.path for one in names_in("map.toml", folders, whole=True)] == [tmp_path / "map.toml"]
    assert set(FileSums().named_by("applications", "map.toml", folders)) == {"map.toml", "deep/lengths.txt"}


@pytest.mark.parametrize(
    ("text", "whole", "name"), table_rows(__file__, "names_of_files_are_found_as_options_take_them")
)
def test_names_of_files_are_found_as_options_take_them(
    tmp_path: Path, text: str, whole: bool, name: str | None
) -> None:
    (tmp_path / "my pol").mkdir()
    for file in ("my machine", "machine", "my pol/p.py", "my pol/p,(x).py", "lens", "a,b.txt", "0.25", "gss", "h=0.25"):
        (tmp_path / file).write_text("")
    found = names_in(text, [tmp_path], whole=whole)
    assert [one.name for one in found] == ([] if name is None else [name])
    expected = text if name is None else text.replace(name, str(tmp_path / name))
    assert located(text, [tmp_path], whole=whole) == expected


def test_what_a_file_holds_is_part_of_a_cell_and_where_it_is_not(tmp_path: Path) -> None:
    keys = []
    for place, content in (("a", "x = 1"), ("b", "x = 1"), ("c", "x = 2")):
        folder = tmp_path / place
        folder.mkdir()
        (folder / "mine.py").write_text(content)
        (folder / "s.toml").write_text(WORKLOAD + "[[cell]]\n[[cell]]\nbls = 'mine.py:X'\n")
        keys.append(find_inputs(load_study(folder / "s.toml")).keys)
    assert keys[0] == keys[1]
    assert keys[0][0] == keys[2][0]
    assert keys[0][1] != keys[2][1]


def test_defaults_that_are_written_out_change_no_key(tmp_path: Path) -> None:
    plain, written = (
        study(WORKLOAD + text) for text in ("", "[run]\nbls = 'fcfs'\nvariation = 0\nspeeds = []\nworkers = 3\n")
    )
    assert find_inputs(plain).keys == find_inputs(written).keys
    assert find_inputs(plain).keys != find_inputs(study(WORKLOAD + "[run]\nvariation = 1e-9\n")).keys


def test_recorded_run_times_beside_techniques_heed_no_costs() -> None:
    found = study(WORKLOAD + "[run]\noverhead = 5\nlengths = 'gamma'\n[grid]\nals = ['recorded', 'ss']\n")
    recorded, ss = (options_of(found, cell, 7).scenario for cell in found.cells)
    assert (recorded.application.overhead_ns, recorded.application.lengths, recorded.seed) == (0, "", 7)
    assert (ss.application.overhead_ns, ss.application.lengths) == (5, "gamma")
    alone = study(WORKLOAD + "[run]\noverhead = 5\nals = 'recorded'\n")
    assert options_of(alone, alone.cells[0], 0).scenario.application.overhead_ns == 5  # so that a check refuses it


def test_a_stored_study_may_have_options_of_older_versions() -> None:
    text = WORKLOAD + "[run]\ncharge-decisions = true\npue = '1.2'\nreaction = 0\n[[cell]]\nbls-timeout = 4\n"
    found = parse_study(text, [Path.cwd()], "name", stored=True)
    assert (found.cells[0].given, found.results) == ({"decision-cost": "measured", "timeout": 4.0}, {"pue": "1.2"})
    text = WORKLOAD + "[run]\nconservative = 'rebuild'\n[grid]\nbackfill = ['none', 'conservative']\n"
    found = parse_study(text, [Path.cwd()], "name", stored=True)
    assert [cell.value("backfill") for cell in found.cells] == ["none", "conservative:rebuild"]
    for bls, of_results in (
        ("'sjf'", {"signals": "s.csv"}),
        ("['sjf', 'mine.py:Cheap']", {}),
    ):  # those of no policy: for costs
        text = WORKLOAD + f"[run]\nsignals = 's.csv'\n[grid]\nbls = {bls}\n"
        found = parse_study(text, [Path.cwd()], "name", stored=True)
        assert (found.results, "signals" in found.cells[0].given) == (of_results, not of_results)
    text = WORKLOAD + "[power]\non = true\nsignals = 's.csv'\n[batch]\npolicy = 'sjf'\n"
    found = parse_study(text, [Path.cwd()], "name", stored=True)
    assert (found.cells[0].given, found.results) == ({"power": "held", "bls": "sjf"}, {"signals": "s.csv"})
    text = WORKLOAD + "[power]\nsignals = 's.csv'\n[execution]\nbls_command = 'prog'\n"  # a program reads them
    found = parse_study(text, [Path.cwd()], "name", stored=True)
    assert (found.results, found.cells[0].given["signals"]) == ({}, "s.csv")
    for axis in ("conservative = ['keep', 'rebuild']", "charge-decisions = [true, false]"):
        text = WORKLOAD + f"[grid]\nbackfill = ['none', 'conservative']\n{axis}\n"
        with pytest.raises(InputError, match="is now"):
            parse_study(text, [Path.cwd()], "name", stored=True)
    with pytest.raises(InputError, match="run"):
        parse_study("run = 3", [Path.cwd()], "name", stored=True)


@pytest.mark.parametrize(
    ("tables", "expected"),
    [
        ("[run]\npower = true\npower-of = 'working'\n", ["working"]),
        ("[run]\npower = true\n[grid]\npower-of = ['working', 'held']\n", ["working", "held"]),
        ("[grid]\npower-of = ['working', 'held']\npower = [true]\n", ["working", "held"]),
        ("[grid]\npower = [false, true]\n", ["none", "held"]),
        ("[run]\npower-of = 'working'\n[grid]\npower = [false, true]\n", ["none", "working"]),
        ("[run]\npower = true\n[[cell]]\n[[cell]]\npower-of = 'working'\n", ["held", "working"]),
        ("[power]\non = false\nof = 'held'\n", ["none"]),
        ("[power]\non = true\nof = ['held', 'working']\n", ["held", "working"]),
        ("[power]\non = [true, false]\n", ["held", "none"]),
        ("[power]\nof = 'none'\nsleep_after_ns = '1h'\n", ["none"]),
    ],
)
def test_a_stored_study_may_have_two_options_of_power(tables: str, expected: list[str]) -> None:
    found = parse_study(WORKLOAD + tables, [Path.cwd()], "name", stored=True)
    assert [cell.value("power") for cell in found.cells] == expected
    options_of(found, found.cells[0], 0)  # "none" did not exclude other options about power


@pytest.mark.parametrize(
    ("now", "older"),
    [
        ("of = 'held'", "d1ddfb5514d8f6af5833"),  # power = true
        ("of = 'working'", "f4813298cc0dac6e358c"),  # with power-of = 'working'
        ("of = 'working'\nsleep_after_ns = '1h'", "3148d874f4e7a8bb3176"),  # power-of = 'working', and no power
        ("of = 'held'\nsleep_after_ns = '1h'", "781af407180af2b75967"),  # power = true
        ("of = 'held'\nsleep_after_ns = '1h'", "4cb6accc3b41d2737f2e"),  # neither
    ],
)
def test_a_cell_has_the_key_that_an_older_version_gave_it(now: str, older: str) -> None:
    """The keys are those of 15e44c07^, which had two options of power."""
    inputs = find_inputs(parse_study(f"{WORKLOAD}[power]\n{now}\n", [Path.cwd()], "name"))
    assert inputs.begun({older}).keys == (older,)
    assert inputs.begun({older, *inputs.keys}) == inputs.begun(set()) == inputs


def test_a_stored_grid_of_an_older_option_keeps_the_order_of_its_cells(tmp_path: Path) -> None:
    axes = "[grid]\npower-of = ['held', 'working']\nbls = ['fcfs', 'sjf']\n"
    text = f"{WORKLOAD}{axes}[[compare]]\noption = 'power-of'\nbase = 'held'\n"
    found = parse_study(text, [Path.cwd()], "name", stored=True)
    assert [cell.value("power") for cell in found.cells] == ["held", "held", "working", "working"]
    assert [(one.option, one.base) for one in found.comparisons] == [("power", "held")]
    columns = {"cell": [0, 1], "workload": "w", "power": [True, False], "power_of": ["working", "held"], "bls": "fcfs"}
    write_frame(pd.DataFrame(columns | {"seed": 0, "error": "", "jobs": 1}), tmp_path / "results.parquet")
    frame = read_results(tmp_path)
    assert list(frame.columns) == ["cell", "workload", "power", "bls", "seed", "error", "jobs"]
    assert frame["power"].tolist() == ["working", "none"]


def test_a_grid_is_a_study(tmp_path: Path) -> None:
    plain = values(Scenario())
    shared = plain | {"seed": 4, "backfill": "none,easy", "overhead": 7, "speeds": ["a:b=1"], "kill_at_walltime": True}
    found = study(grid_text("sample", "fcfs,sjf", "fsc:h=1,sigma=2,gss", "0,0.5", None, shared))
    assert len(found.cells) == 16
    assert found.varied == ("bls", "backfill", "als", "variation")
    assert found.seeds == (4,)
    assert found.keep == ("jobs",)
    assert found.cells[0].given["overhead"] == 7
    assert found.cells[0].given["speeds"] == ("a:b=1",)
    assert [cell.value("als") for cell in found.cells[:4:2]] == ["fsc:h=1,sigma=2", "gss"]
    assert study(grid_text("sample", "fcfs", "gss", None, "3", plain)).seeds == (0, 1, 2)
    odd = 'a"b\\c\td.swf'
    assert study(grid_text(odd, "fcfs", "gss", None, None, plain)).cells[0].workload.file == odd


VALUES = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
METRICS = st.none() | st.dictionaries(st.sampled_from(("x", "y_ns", "z")), VALUES)
ENTRIES = st.lists(st.tuples(st.text("abc", min_size=1, max_size=2), st.integers(0, 2**64 - 1), METRICS), max_size=12)


@given(entries=ENTRIES, cut=st.floats(0, 1))
def test_a_journal_that_was_cut_anywhere_has_what_was_finished_before(
    tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, int, dict[str, object] | None]], cut: float
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    made = [
        Entry(key, seed, metrics, bool(metrics) and seed % 2 == 0, "so" if metrics is None else "", 7, 0.5, 0.25, "me")
        for key, seed, metrics in entries
    ]
    sizes: list[int] = []
    with Journal(folder) as journal:
        for entry in made:
            journal.add(entry)
            sizes.append((folder / JOURNAL).stat().st_size)
    data = (folder / JOURNAL).read_bytes()
    kept = int(cut * len(data))
    (folder / JOURNAL).write_bytes(data[:kept])
    # Known of each cell and seed: the latest that finished, otherwise the latest.
    done: dict[tuple[str, int], Entry] = {}
    failed: dict[tuple[str, int], Entry] = {}
    for entry, size in zip(made, sizes, strict=True):
        if size <= kept:
            (failed if entry.metrics is None else done)[entry.key, entry.seed] = entry
            if entry.metrics is not None:
                failed.pop((entry.key, entry.seed), None)
    with Journal(folder) as journal:
        assert (set(journal.finished), set(journal.failed)) == (set(done), set(failed))
        for wanted in (None, ("x",)):
            # A failure counts where what is finished lacks a metric.
            has = {
                key: one.every or (bool(wanted) and set(wanted) <= set(one.metrics or ())) for key, one in done.items()
            }
            expected = done | {key: one for key, one in failed.items() if not has.get(key)}
            assert dict(zip(expected, journal.entries(iter(expected), wanted), strict=True)) == expected
            assert {key: journal.has(*key, wanted) for key in done} == has
        journal.add(Entry("new", 1, {"x": 1}, True, "", 1, 0.0, 0.0, ""))
    with Journal(folder) as journal:
        assert set(journal.finished) == {*done, ("new", 1)}
        assert list(journal.entries(iter([("nobody", 0)]))) == [None]
    for line in (folder / JOURNAL).read_text().splitlines():
        json.loads(line)


def test_an_ordinary_word_of_an_error_names_no_option() -> None:
    given: dict[str, Value] = {"backfill": "none", "bls": "mine.py:Mine"}
    origins = {("backfill", "none"): "s.toml: [grid] backfill", ("bls", "mine.py:Mine"): "s.toml: [run] bls"}
    error = "W1.swf: none of 5 jobs fits a platform of 256 cores"
    assert with_origin(error, given, origins) == error
    assert with_origin("mine.py:Mine: no", given, origins) == "s.toml: [run] bls: mine.py:Mine: no"
    assert with_origin(f"{BACKFILL}: 'nine'", given, origins) == "s.toml: [grid] backfill: 'nine'"


def of_file(name: str, folders: list[str]) -> object:
    Path("s.toml").write_text("[grid]\n")
    return load_study(Path(name), folders)


test_bad_input_is_refused = refusals(
    __file__,
    {
        "what_is_wrong_is_said_with_its_place": study,
        "files": of_file,
        "seeds": lambda given_: seeds_of(given_, "seeds"),
        "values": lambda option, value: checked_value(option, value, "x"),
    },
    {
        "what_is_wrong_is_said_with_its_place": [
            (WORKLOAD + "[grid]\n" + "".join(f"{name} = {[*range(300)]}\n" for name in ("variation", "overhead", "slack")),
             r"\[grid\]: 27000000 combinations; allowed: up to 10000000"),
            (WORKLOAD + '[grid]\noverhead = [0, "soon"]\n', "overhead: 'soon' is no time; allowed: a number and ns, us, ms"),
        ],
        "files": [
            ("s.toml", [], r"s\.toml: \[workload\]: missing"),
            ("t.toml", [], "no such file"),
            ("s.toml", ["nowhere"], "data: nowhere is not a folder"),
        ],
        "seeds": [(one, "seeds") for one in (0, -1, True, 1.5, "", "x", [-1], [2**64], ["1"], "0-999999999")],
        "values": [("tasks-per-core", True, "x: True; allowed: a whole number")],
    },
)  # fmt: skip
