"""Options are declared once, and generated pages state them; and every pair of conflicting features is refused."""

import ast
import inspect
import pickle
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from command_line import twolevel
from pages import ROOT

import als.options
import bls.conflicts
import bls.options
import bls.power.features.pue.feature
import bridge
import bridge.options.declared
import traces.base.options
from bls import Batch, BatchSimulator, ConstraintOptions, HostGroup, Platform, Rules, Workload, allocator, policy
from bls.conflicts import BATCH, RUN, STREAM, UNAWARE
from bls.constraints.job_constraints import constrain
from bls.engine.features.presets.options import PRESET
from bls.engine.features.widths.options import RESIZE
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition, Switch
from bls.stream import check_streamed
from bridge.cli.run_commands import COMMANDS
from bridge.cli.trace_commands import trace_app
from bridge.cli.workload_commands import workload_app
from bridge.options.output import RunOutput
from bridge.runs.afterwards import check_repeatable
from bridge.scenarios.conflicts import COMPANIONS, REPLAY, REPLAYED_JOBS, SLURM_CELLS, TYPED, check_used
from bridge.scenarios.ready import decided
from bridge.standard_error import flag, on_command_line
from tools import conflicts
from tools.site.commands import command_pages
from traces import InputError
from traces.base.errors import Mention, begins_at, in_table, leading, spelled
from traces.base.options import Choice, Conflict, Option, Real, Whole, check, number_text, values
from traces.base.retired import RETIRED, retired, unknown
from traces.exporters import EXPORTERS

#: Where options are declared, and the one that lets none be written elsewhere.
OF_FEATURES = [
    import_module(f"bls.engine.features.{path.parent.name}.options")
    for path in sorted((ROOT / "bls/engine/features").glob("*/options.py"))
]
DECLARING = [
    als.options,
    bls.options,
    bls.power.features.pue.feature,
    *OF_FEATURES,
    bridge.options.declared,
    traces.base.options,
]
_OPTIONS: dict[int, tuple[str, Option[Any]]] = {
    id(value): (f"{module.__name__}.{name}", value)
    for module in DECLARING
    for name, value in vars(module).items()
    if isinstance(value, Option)
}
DECLARED = list(_OPTIONS.values())

#: The generated pages by command.
PAGES = {text.partition("\n")[0].removeprefix("# twolevel "): text for text in command_pages().values()}


@pytest.mark.parametrize(("place", "option"), DECLARED, ids=[place for place, _ in DECLARED])
def test_a_declaration_is_whole(place: str, option: Option[Any]) -> None:
    assert option.help
    assert not option.help.endswith(".")
    assert option.name == option.name.strip()
    assert option.metavar or option.off or option.default is False
    if isinstance(option, Whole | Real):
        assert option.lowest < option.highest
        assert option.limits in option.text
        assert option.check(option.lowest) == option.lowest
        assert option.check(option.highest) == option.highest
        for outside in (option.lowest - 1, option.highest * 2):
            with pytest.raises(InputError, match=rf"^{option.keyword}=.*: .* is out of range; allowed: "):
                option.check(outside)
        if option.default is not None:
            assert option.check(option.default) == option.default
    if option.is_time:
        assert f"; a bare number is {option.unit}; " in option.text
        assert option.check(option.read("1ms")) == option.read(f"{1e-3 if option.unit == 's' else 10**6}")
        with pytest.raises(
            InputError, match=rf"^{option.keyword}: 'soon' is no time; allowed: .* number of {option.unit}$"
        ):
            option.read("soon")
    if isinstance(option, Choice):
        assert option.check(option.default) == option.default
        assert set(option.choices) <= {word.strip(",:;") for word in option.help.split()}
        with pytest.raises(InputError, match=rf"^{option.keyword}='x': unknown {option.what} 'x'; known: "):
            option.check("x")


def test_the_help_lists_every_trace_format() -> None:
    listed = re.search(r": (.*), your own; or none", bridge.options.declared.TRACE_FORMATS.help)
    assert listed
    assert listed[1].split(", ") == [*EXPORTERS]


def test_numbers_of_limits_are_short_and_exact() -> None:
    said = {0: "0", 10.0: "10", 1e-9: "1e-9", 1e-3: "0.001", 1024: "1024", 10**12: "1e12", 3600 * 10**9: "3.6e12"}
    said |= {2**20: "2^20", 2**64 - 1: "2^64 - 1", 86_400.0: "86400", 1234567.5: "1234567.5", 12345678: "12345678"}
    assert {number: number_text(number) for number in said} == said


def command_options(command: str) -> dict[str, tuple[Option[Any], Any]]:
    group, _, name = command.partition(" ")
    if name:
        commands = {"workload": workload_app, "trace": trace_app}[group].registered_commands
        function: Any = next(one.callback for one in commands if one.name == name)
    else:
        function = COMMANDS[command].function(command)
    found: dict[str, tuple[Option[Any], Any]] = getattr(function, "options", {})
    return {flag(option.name): (option, default) for option, default in found.values() if option.name.islower()}


@pytest.mark.parametrize("command", [name for name in PAGES if name != "# Commands"])
def test_the_generated_page_of_a_command_states_the_declarations(command: str) -> None:
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*) \|$", PAGES[command], re.MULTILINE)
    for name, (option, own) in command_options(command).items():
        ((head, default, meaning),) = [row for row in rows if name in re.split(r",? ", row[0])]
        meaning = meaning.replace("\\", "").replace("`", "")
        assert head.endswith(f"{name} {option.metavar}".strip()) or f"--{option.off}" in head, head
        assert option.limits in meaning, head
        assert on_command_line(option.rule) in meaning, head
        if isinstance(option, Choice):
            assert all(choice in default + meaning for choice in option.choices), head
        value = option.default if own is None else own
        if own is inspect.Parameter.empty and option.default is None:
            assert default == "needed", head
        elif option.name != "out" and value not in (None, False, "", ()) and not option.rule:
            shown = default.strip("`")
            assert shown == str(value) or float(shown) == value, head


#: Options of another program, sacct, that its readers speak of.
OF_SACCT = ("--parsable", "--parsable2", "--json", "--noheader", "--duplicates")


@pytest.mark.parametrize("package", ["als", "bls", "traces"])
def test_levels_know_no_options_of_the_command_line(package: str) -> None:
    found = [
        f"{path}:{node.lineno}: {option}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for option in re.findall(r"--[a-z][a-z0-9-]*", node.value)
        if option not in OF_SACCT or "sacct" not in path.name
    ]
    assert found == []


def test_the_change_log_lists_every_retired_option() -> None:
    page = (
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").partition("### Retired options")[2].partition("\n### ")[0]
    )
    assert [name for name in RETIRED if not re.search(rf"`[^`]*--{name}\b", page)] == []
    assert on_command_line(retired("no_trace")) == "is now --trace none"
    assert str(unknown("option", "als_timeout_s", ["workers"], "")) == "als_timeout_s is now timeout_s"
    assert str(unknown("key", "on", ["of"], "Power")) == "Power: on is now power='held' or 'working'"


def test_each_surface_spells_what_a_text_mentions() -> None:
    resize, preset = RESIZE, PRESET
    text = f"{resize:none}: not with {als.options.OVERHEAD:5}, {preset:False} or {bls.options.CANCELLED}; allowed: no {resize}"
    error = InputError(text)
    assert str(error) == "resize='none': not with overhead_ns=5, preset=False or cancelled=True; allowed: no resize"
    assert on_command_line(error.text) == (
        "--resize none: not with --overhead 5, --no-preset or --cancelled; allowed: no --resize"
    )
    assert spelled(text, in_table) == (
        "resize = 'none': not with overhead = 5, preset = false or cancelled = true; allowed: no resize"
    )
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert repr(error) == f"InputError({str(error)!r})"
    with pytest.raises(InputError, match=r"^resize='nobody': unknown change of widths 'nobody'; ") as caught:
        resize.check("nobody")
    assert on_command_line(caught.value.text).startswith("--resize: unknown change of widths 'nobody'; ")
    assert begins_at(caught.value.text, str(resize))
    assert not begins_at(caught.value.text, str(preset))
    assert str(InputError(f"a\ufdd0b {resize}")) == "a\\ufdd0b resize"  # half a mark, in a text of others
    assert leading(text) == (Mention("resize", "resize", "none"), text.partition("none")[2][2:])


@pytest.mark.parametrize("package", [als, bls, bridge, traces])
def test_no_signature_shows_how_options_are_marked(package: ModuleType) -> None:
    for name in package.__all__:
        public = getattr(package, name)
        shown = str(inspect.signature(public)) if inspect.isfunction(public) else repr(public)
        assert not any(0xFDD0 <= ord(character) <= 0xFDD4 for character in shown), name


POWER = HostPower(50, [(1, 100), (0.5, 70)], shutdown=("5s", 1), boot=("5s", 1))
MACHINE = Platform(
    (HostGroup(2, 2, 1.0, power=POWER, gpus=1),),
    licences={"solver": 1},  # type: ignore[arg-type]
    switches=(Switch("low", "0-1"),),
)
DIVIDED = Platform((HostGroup(2, 2, 1.0),), partitions=(Partition("half", hosts="0", default=True),))
JOBS = [(1, 0, 60, 2, 60), (2, 5, 30, 2, 60), (3, 9, 30, 1, 60)]
RUNNING = {"job_id": 4, "submit_s": 0, "run_s": 30, "cores": 1, "preset": 1}
AFTER = {"job_id": 4, "submit_s": 9, "run_s": 30, "cores": 1, "preceding": [1, 2]}
FILES = {
    "drains.csv": "host,down_s,up_s,state\n0,1,2,drain\n",
    "fails.csv": "host,down_s,up_s\n0,1,2\n",
    "licences.csv": "job_id,solver\n1,1\n",
    "gpus.csv": "job_id,gpus_per_task\n1,1\n",
    "gpus-per-host.csv": "job_id,gpus_per_host\n2,1\n",
    "units.csv": "job_id,unit_cores\n1,2\n",
    "windows.toml": '[[maintenance]]\nname = "m"\nbegin = "500s"\nend = "900s"\nhosts = "1"\n',
    "applications.toml": "[default]\ntasks = 3\n",
    "graphs.toml": '[default]\ngraph = "chain:tasks=3"\n',
    "token": "0" * 64,
}
TABLES = [row for rows in conflicts.TABLES.values() for row in rows]
PAIRS = [on_command_line(f"{row.first.name} × {row.second.name}") for row in TABLES]


class Decides:
    """A policy that decides in Python."""

    name = "mine"

    def decide(self, view: Any) -> list[Any]:
        return list(view.queue)


class Directs(Decides):
    """One that changes how jobs run."""

    directs = ("speeds",)


class Widths(Decides):
    """One that may say how wide jobs are."""

    directs = ("widths",)


class Unaware(Decides):
    """One that knows nothing of something."""

    def __init__(self, what: str) -> None:
        self.unaware_of = (what,)


class Priced(Decides):
    """One that goes by prices."""

    needs_signals = ("price_per_kwh",)


class Follows(Decides):
    """One that keeps books of its own."""

    def finish(self, view: Any) -> None:
        pass


PLUG_INS = {one.__name__.upper(): one for one in (Decides, Directs, Widths, Unaware, Priced, Follows)}


def refused(row: Conflict, given: dict[str, Any]) -> None:
    name, *unaware = str(given.get("bls")).split(":")
    if name in PLUG_INS:
        given["bls"] = PLUG_INS[name](*unaware)
    further = [AFTER] * given.pop("several", False) + [RUNNING] * given.pop("running", False)
    jobs = Workload.from_jobs([*JOBS, *further])
    machine = DIVIDED if given.pop("divided", False) else MACHINE
    if row in TYPED:
        check(TYPED, values(bridge.Scenario()) | values(RunOutput()) | given)
    elif row in SLURM_CELLS:
        check(SLURM_CELLS, given)
    elif row in REPLAYED_JOBS:
        ready = bridge.ReadyScenario.of(jobs, machine, decided(bridge.Scenario.flat(**given)))
        check(REPLAYED_JOBS, ready.constraints.dependencies)
    elif row in REPLAY:
        check(REPLAY, given)
    elif row in COMPANIONS:
        check_used([values(bridge.Scenario()) | {"bls": "fcfs"} | given])
    elif row in STREAM:
        scenario = decided(bridge.Scenario.flat(als="recorded", **given))
        ready = bridge.ReadyScenario.of(jobs, machine, scenario)
        check_streamed(ready.policy, scenario.batch, ready.constraints, ready.allocator)
    elif row in BATCH:
        Batch(**given)
    elif row in RUN and given.get("als") == "recorded":  # the command line and Python say so before there are jobs
        jobs, asked = constrain(jobs, machine, ConstraintOptions(malleable="1"))
        run = {"rules": Rules(resize=given["resize"]), "constraints": asked, "recorded": True}
        BatchSimulator(jobs, machine, policy("fcfs"), allocator("first-fit"), **run)
    elif given.pop("fair_start", False):
        check_repeatable(bridge.ReadyScenario.of(jobs, machine, decided(bridge.Scenario.flat(**given))))
    else:
        bridge.simulate(jobs, machine, **given)


def test_the_page_has_every_conflict_of_the_batch_level() -> None:
    modules = (bls.conflicts, *OF_FEATURES)
    tables = [value for module in modules for value in vars(module).values() if isinstance(value, tuple)]
    rows = [row[1] if isinstance(row, tuple) else row for table in tables for row in table]
    found = {id(row) for row in (*rows, *UNAWARE.values()) if isinstance(row, Conflict)}
    assert found <= {id(row) for row in TABLES}
    assert len(found) > 50


@pytest.mark.parametrize("row", TABLES, ids=PAIRS)
def test_a_conflict_is_refused(row: Conflict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text, encoding="utf-8")
        Path(name).chmod(0o600)
    with pytest.raises(InputError) as caught:
        refused(row, {**row.first.example, **row.second.example, **row.example})
    first, second = (one.given if isinstance(one.given, str) else "\x00" for one in (row.first, row.second))
    said = row.said(first or row.first.name, second or row.second.name)
    assert re.fullmatch(re.escape(said).replace("\0", ".*"), caught.value.text), str(caught.value)


def test_the_page_has_all_of_them() -> None:
    assert conflicts.PAGE.read_text(encoding="utf-8") == conflicts.page()  # python -m tools.conflicts


def test_each_surface_spells_the_same_error(tmp_path: Path) -> None:
    given = {"workload": Workload.from_jobs(JOBS), "machine": bridge.Machine(MACHINE)}
    why, only = "no effect on", "only policies that read deadlines use it"
    with pytest.raises(InputError, match=rf"^slack=3: {why} bls='sjf'; {only}; allowed: edf$"):
        bridge.simulate(given["workload"], MACHINE, bls="sjf", slack=3.0)
    with pytest.raises(InputError, match=rf"^batch.slack=3: {why} batch.policy='sjf'; {only}; allowed: edf$"):
        bridge.simulate(bridge.Scenario(**given, batch=Batch(policy="sjf", slack=3.0)))
    ran = twolevel("run", "sample", "--bls", "sjf", "--slack", 3, "--out", tmp_path / "run")
    assert ran.err == f"twolevel: --slack 3: {why} --bls sjf; {only}; allowed: edf\n"
    study = tmp_path / "study.toml"
    study.write_text('[study]\n[workload]\nsource = "sample"\n[batch]\npolicy = ["sjf", "fcfs"]\nslack = 3\n')
    ran = twolevel("study", study, "--out", tmp_path / "study")
    words = f"[batch] slack = 3: {why} [batch] policy = 'sjf' or [batch] policy = 'fcfs'; {only}; allowed: edf"
    assert ran.err == f"twolevel: {study}: {words}\n"
