"""Features are hooks: a plain run fills no slot, a run that does something fills the slots of it; no other is called."""

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from directing import LastOfEach
from directors import Director
from pages import ROOT

import bridge
from als.engine import hooks as a
from als.programs import table as program_drawing
from bls.engine import hooks as h
from bls.engine import initial_state
from bls.engine.feature import Feature
from bls.engine.features import order
from bls.machine.host_power import HostPower
from bls.machine.partitions import Partition
from bls.machine.platform import HostGroup, Platform
from bls.power.options import Power
from bls.scheduler_options import ConstraintOptions, Rules
from bls.workloads.workload import Workload
from bridge.couplings import inline_state as i
from bridge.runs.kernels import APPLICATION, BATCH, INLINE, WORKER, prepare_run, prepare_workers
from bridge.scenarios.scenario import Application
from traces.compiled import REFUSED, Hooks, as_value, compiled, types
from traces.kernels import store

TABLES = {
    "batch": h.ROLES,
    "application": a.HOOKS,
    "graphs": a.GRAPH_HOOKS,
    "drawing": program_drawing.HOOKS,
    "inline": i.HOOKS,
}

JOBS = [(1, 0, 100, 200, 100), (2, 1, 50, 256, 60), (3, 2, 30, 4, 30), (4, 3, 10, 8, 20)]

#: The features of the batch engine, by what they are called where they are declared.
_PATHS = [path.parent.name for path in (ROOT / "bls/engine/features").glob("*/feature.py")]
_MODULES = [import_module(f"bls.engine.features.{name}.feature") for name in _PATHS]
NAMES = {one: name for module in _MODULES for name, one in vars(module).items() if isinstance(one, Feature)}
DECLARED = [order.declared(where) for where, _ in order.FEATURES]
HOSTS = {"OUTAGES", "RETRIES"}
GRAPHS = {a.OPEN_GRAPH, a.SERVE_GRAPH}
CHANGES = {a.CHANGE_GRAPH, a.STOP_GRAPH}
WIDTHS = {a.RANK, a.RESIZE_GRAPH, a.LEAVE_GRAPH}
DEVICES = {a.RANK, a.BEGIN_ON_DEVICE, a.CUT_ON_DEVICES}


class Eager:
    """Starts whatever fits."""

    name = "eager"

    def decide(self, view: Any) -> Any:
        free = view.free_cores
        for job in view.waiting:
            if job.cores <= free:
                free -= job.cores
                yield job


GRAPH_MAP = '[default]\ngraph = "cholesky:tiles=3,ccr=0.2"\n'
DEVICES_MAP = '[default]\nphases = [{ kind = "loop" }, { kind = "loop", on = "gpu" }]\nworkers.gpu = { count = 2 }\n'
WISHES_MAP = '[default]\nphases = [{ kind = "loop", cores = 0.5 }]\n'


@pytest.fixture
def filled(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[Any]]:
    """Which slots of each table have been filled so far; of the batch engine, which features runs have had."""
    found: dict[str, set[Any]] = {name: set() for name in TABLES}
    for name, table in TABLES.items():

        def spy(wanted: Any, name: str = name, made: Callable[..., Any] = table.filled) -> Any:
            found[name] |= set(wanted)
            return made(wanted)

        if name != "batch":
            monkeypatch.setattr(table, "filled", spy)
    call_features = initial_state._call_features

    def spy_on_features(state: Any, features: list[Feature]) -> None:
        found["batch"] |= {NAMES[feature] for feature in features}
        call_features(state, features)

    monkeypatch.setattr(initial_state, "_call_features", spy_on_features)
    for cached in (a._table, a.graph_table):
        cached.cache_clear()
    yield found
    for cached in (a._table, a.graph_table):
        cached.cache_clear()


def simulated(**options: Any) -> Any:
    result = bridge.simulate(replace(Workload.from_jobs(JOBS), user=np.array([1, 1, 2, 2])), **options)
    for table in TABLES.values():
        table.check()
    return result


def test_a_plain_run_fills_no_slot(filled: dict[str, set[Any]]) -> None:
    for options in ({}, {"backfill": "easy"}, {"als": "gss", "variation": 0.25}, {"als": "recorded", "bls": "sjf"}):
        simulated(**options)
    assert filled == {name: set() for name in TABLES}


def test_drained_hosts_and_presets_fill_their_slots(filled: dict[str, set[Any]], tmp_path: Path) -> None:
    bridge.simulate(replace(Workload.from_jobs(JOBS), preset=np.array([1, 0, 0, 0])))
    assert filled["batch"] == {"PRESETS"}
    path = tmp_path / "nodes.csv"
    path.write_text("host,down_s,up_s,state\n0,10,20,drain\n")
    simulated(constraints=ConstraintOptions(failures=str(path)))
    assert filled["batch"] == {*HOSTS, "HOLDERS", "DRAINS", "PRESETS"}


def test_requests_of_gpus_fill_their_slots(filled: dict[str, set[Any]], tmp_path: Path) -> None:
    path = tmp_path / "requests.csv"
    path.write_text("job_id,gpus\n4,2\n")
    machine = Platform((HostGroup(4, 64, 3000.0, gpus=2),))
    simulated(platform=machine)
    assert filled["batch"] == set()
    simulated(platform=machine, constraints=ConstraintOptions(requests=str(path)))
    assert filled["batch"] == {"BY_CORES", "GPUS", "PLANS_AHEAD"}
    limited = replace(machine, partitions=(Partition("all", default=True, max_gpus_per_user=2),))
    simulated(platform=limited, constraints=ConstraintOptions(requests=str(path)))
    assert filled["batch"] == {"BY_CORES", "GPUS", "PLANS_AHEAD", "TALLIES"}


#: What applications use that receive commands.
TOLD: dict[str, dict[str, set[Any]]] = {
    "TOGETHER": {"application": {a.SERVE_LAST, a.RANK}},
    "HINTS": {"application": {a.SERVE_LAST}},
    "HINTS_AS_DECIDED": {"application": {a.SERVE_LAST}},
    "WIDTHS": {"application": {a.SERVE_LAST, a.RANK}},
    "DIRECTS": {},
    "SLOWS": {},
}

#: What runs fill in which running jobs receive commands, and applications are kept.
KEPT = {i.START, i.COME_DUE, i.INTERRUPT}


def limited(fallback: str, *where: str) -> dict[str, Any]:
    power = HostPower(1, [(1, 4), (0.5, 2)])
    limits = Power(limits=[(10**9, 10**14, 800, *where)], fallback=fallback)
    return {"platform": Platform((HostGroup(4, 64, 3000.0, power=power),)), "power": limits}


def sleeping() -> dict[str, Any]:
    power = HostPower(1, [(1, 4)], shutdown=("5s", 1), boot=("5s", 1))
    return {"platform": Platform((HostGroup(4, 64, 3000.0, power=power),)), "power": Power(sleep_after_ns=10**9)}


CAPPED = Partition("all", default=True, max_running_jobs=2)
MALLEABLE = ConstraintOptions(malleable="1")
GIVES = {"HOLDERS", "RELEASES"}
SLOWED = {"LIMITS", "EASY", "SLOWS", "COMMANDS"}
DIRECTED = {"HOLDS", "DECIDES", "DIRECTS", "RETRIES", "COMMANDS", "OTHERS"}
PARTS = {"PLANS_AHEAD", "BY_CORES", "LIMITS", "PARTS"}
BATCH_CASES: dict[str, tuple[dict[str, Any], set[int]]] = {
    "planning": ({"backfill": "3"}, {"PLANS_AHEAD"}),
    "keeping": ({"backfill": "conservative"}, {"PLANS_AHEAD", "OTHERS"}),
    "by cores": ({"allocator": "contiguous", "backfill": "easy"}, {"PLANS_AHEAD", "BY_CORES"}),
    "hosts": ({"constraints": ConstraintOptions(failures="mtbf:1d,mttr:1h")}, HOSTS),
    "predictions": ({"estimates": "last-two", "backfill": "easy"}, {"PREDICTS"}),
    "promises": ({"estimates": "application", "backfill": "easy"}, {"PROMISES"}),
    "an order": ({"bls": "wfp3"}, {"SCORES"}),
    "accounts": ({"bls": "multifactor"}, {"SCORES", "ACCOUNTS"}),
    "limits of partitions": ({"platform": Platform((HostGroup(4, 64, 3000.0),), partitions=(CAPPED,))}, {"PARTITION_LIMITS"}),
    "releases": ({"rules": Rules(coordination="release")}, GIVES),
    "releases by cores": ({"rules": Rules(coordination="release"), "allocator": "contiguous"},
                          {"PLANS_AHEAD", "BY_CORES", *GIVES}),
    "hints": ({"rules": Rules(coordination="hint")}, {*GIVES, "HINTS", "COMMANDS"}),
    "widths": ({"rules": Rules(resize="expand+shrink"), "constraints": MALLEABLE}, {*GIVES, "WIDTHS", "COMMANDS"}),
    "molding": ({"rules": Rules(resize="mold"), "constraints": MALLEABLE}, {"MOLDS"}),
    "molding beside reservations": ({"rules": Rules("3", resize="mold"), "constraints": MALLEABLE},
                                    {"MOLDS_WITH_PLANS", "PLANS_AHEAD"}),
    "hinting": ({"bls": LastOfEach(), "rules": Rules(coordination="hint")},
                {"DECIDES", "HOLDS", *GIVES, "HINTS_AS_DECIDED", "COMMANDS", "OTHERS"}),
    "hints and widths": ({"rules": Rules(resize="expand", coordination="hint"), "constraints": MALLEABLE},
                         {*GIVES, "HINTS", "WIDTHS", "TOGETHER", "COMMANDS"}),
    "directing": ({"bls": Director(1)}, DIRECTED),
    "holding": (limited("hold"), {"LIMITS", "EASY"}),
    "slowing": (limited("dvfs"), SLOWED),
    "slowing beside a reservation": (limited("dvfs") | {"backfill": "easy"}, SLOWED),
    "slowing by cores": (limited("dvfs") | {"backfill": "2"}, {*SLOWED, "BY_CORES", "PLANS_AHEAD"} - {"EASY"}),
    "slowing one by one": (limited("dvfs:slow=fewest"), SLOWED),
    "limits to a part": (limited("dvfs", "hosts:0-1"), {*PARTS, "SLOWS", "COMMANDS"}),
    "deciding under limits to a part": (limited("hold", "hosts:0-1") | {"bls": Director(0)},
                                        {*PARTS, *DIRECTED} - {"PLANS_AHEAD"}),
    "stopping": (limited("stop:off"), {"STOPS"}),
    "sleeping": (sleeping(), {"SLEEPS"}),
    "deciding": ({"bls": Eager()}, {"DECIDES", "OTHERS", "HOLDS"}),
    "recording passes": ({"rules": Rules(keep_decisions=True)}, {"RECORDS"}),
    "charging decisions": ({"rules": Rules(decision_cost_ns=10**9)}, {"CHARGES"}),
    "rejecting": ({"bls": "reject", "als": "recorded"}, {"TURNS_AWAY"}),
}  # fmt: skip


@pytest.mark.parametrize("case", BATCH_CASES)
def test_a_feature_of_the_batch_level_fills_its_slots(case: str, filled: dict[str, set[Any]]) -> None:
    options, wanted = BATCH_CASES[case]
    simulated(**options)
    assert filled["batch"] == wanted
    others = {name: slots for name, slots in filled.items() if name != "batch" and slots}
    told = next((name for name in TOLD if name in wanted), "")
    assert others == (TOLD[told] | {"inline": KEPT} if told else {})


SQUARE = ("square:period=10m,low=0.5,cores=0-63",)
CUT = {"application": GRAPHS | CHANGES}
EQUAL, EVOLVE = ({"rules": Rules(resize=way), "constraints": MALLEABLE} for way in ("equal", "evolve"))
WIDE = {a.SERVE_LAST, a.RANK}

#: A map, options (those of the level among them), and the slots that are filled.
APPLICATION_CASES: dict[str, tuple[str, dict[str, Any], dict[str, set[Any]]]] = {
    "a choice": ("", {"als": "select:gss,fac"}, {"application": {a.SELECT}}),
    "speeds": ("", {"speeds": SQUARE}, {"inline": {i.SPEEDS, i.VARYING}, "application": set()}),
    "graphs": (GRAPH_MAP, {}, {"application": GRAPHS, "drawing": {0}, "inline": {i.GRAPHS}, "graphs": set()}),
    "a network": (GRAPH_MAP, {"network": "lv08"},
                  {"application": GRAPHS, "inline": {i.GRAPHS}, "graphs": set(a.GRAPH_HOOKS.slots)}),
    "walltimes of graphs": (GRAPH_MAP, {"rules": Rules(kill_at_walltime=True)}, CUT),
    "failures amid graphs": (GRAPH_MAP, {"constraints": ConstraintOptions(failures="mtbf:1d,mttr:1h")}, CUT),
    "speeds amid graphs": (GRAPH_MAP, {"speeds": SQUARE}, CUT),
    "widths of graphs": (GRAPH_MAP, EQUAL, {"application": GRAPHS | WIDTHS | {a.SERVE_LAST}, "inline": {i.GRAPHS, *KEPT}}),
    "a network, and who waits": (GRAPH_MAP, {"network": "lv08", "rules": Rules(coordination="hint")},
                                 {"inline": {i.GRAPHS, i.INTERRUPT}}),
    "devices": (DEVICES_MAP, {}, {"application": DEVICES, "inline": {i.DEVICES}}),
    "wishes that are not followed": (WISHES_MAP, EQUAL,
                                     {"batch": {*GIVES, "WIDTHS", "COMMANDS"}, "application": WIDE, "inline": KEPT}),
    "wishes": (WISHES_MAP, EVOLVE,
               {"batch": {*GIVES, "WIDTHS", "COMMANDS", "REQUESTS"}, "application": {*WIDE, a.REQUEST_WIDTH},
                "inline": {i.WIDTH_REQUESTS, *KEPT}}),
}  # fmt: skip


@pytest.mark.parametrize("case", APPLICATION_CASES)
def test_a_feature_of_the_application_level_fills_its_slots(
    case: str, filled: dict[str, set[Any]], tmp_path: Path
) -> None:
    applications, options, wanted = APPLICATION_CASES[case]
    level = {name: value for name, value in options.items() if name in ("speeds", "network")}
    if applications:
        level["applications"] = tmp_path / "map.toml"
        level["applications"].write_text(applications)
    others = {name: value for name, value in options.items() if name not in level}
    simulated(**{"als": "gss"} | others, application=Application(**level))
    assert {name: filled[name] for name in wanted} == wanted
    if case in ("a choice", "speeds"):
        assert {name for name, slots in filled.items() if slots} == {name for name, slots in wanted.items() if slots}


def test_every_feature_and_every_slot_of_every_table_is_in_a_case_here() -> None:
    assert NAMES.keys() == set(DECLARED)
    batch = set().union(*(wanted for _, wanted in BATCH_CASES.values())) | {"PRESETS", "REQUESTS", "DRAINS"}
    batch |= {"GPUS", "TALLIES"}
    assert batch == set(NAMES.values()) - {"DEPENDENCIES", "SWITCHES"}
    assert GRAPHS | CHANGES | WIDTHS | DEVICES | {a.SELECT, a.SERVE_LAST, a.REQUEST_WIDTH} == set(a.HOOKS.slots)
    assert {i.SPEEDS, i.VARYING, i.GRAPHS, *KEPT, i.WIDTH_REQUESTS, i.DEVICES} == set(i.HOOKS.slots)


@pytest.mark.parametrize("roles", h.STRATEGIES.values())
def test_a_feature_plays_all_roles_that_belong_together(roles: range) -> None:
    players = [feature for feature in DECLARED if feature.plays.keys() & set(roles)]
    assert players
    assert all(set(roles) <= feature.plays.keys() for feature in players)


SMALL = types.int64(types.int64, types.float64)


@compiled(SMALL)
def small(number: int, speed: float) -> int:
    return number + int(speed)


def test_a_slot_that_is_not_filled_refuses_by_name() -> None:
    table = Hooks("engine", SMALL, {0: ("adding", f"{__name__}:small"), 1: ("subtracting", f"{__name__}:small")})
    addresses = table.filled({0})
    assert addresses[0] == as_value(small, SMALL).address
    call = table._refuse(1)
    assert call(3, 0.5) == REFUSED
    with pytest.raises(RuntimeError, match="engine: subtracting: this run has not asked for it"):
        table.check()
    table.check()  # it is said once: the next run has done nothing wrong


def test_what_a_plain_run_is_made_of() -> None:
    """Who adds a kernel to what everybody compiles sees it here: :mod:`bridge.runs.kernels` says how many there are."""
    simulated(als="static")
    said = BATCH | APPLICATION | INLINE | WORKER
    prepare_run(applications=True)
    prepare_workers()
    found = {module: store.kept(module) for module in said}
    if any(kept is None for kept in found.values()):
        pytest.fail(f"not kept: {[module for module, kept in found.items() if kept is None]}")
    facts = {module: kept.facts for module, kept in found.items() if kept is not None}
    assert {module: fact["kernels"] for module, fact in facts.items()} == said
    assert sum(fact["lines"] for module, fact in facts.items() if module not in WORKER) < 3330
