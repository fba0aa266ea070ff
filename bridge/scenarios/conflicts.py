"""Features that exclude each other, each pair once (``traces.base.options``); ``bls.conflicts`` has those of the batch level.
Each table is checked for another object: see the comments."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from als import options as a
from bls import options as b
from bls.engine.features.decisions.options import DECISION_COST, DECISIONS
from bls.engine.features.dependencies.options import DEPENDENCIES
from bls.engine.features.other_events.options import WINDOWS
from bls.engine.features.outages.options import FAILURES, MAX_ATTEMPTS, ON_FAILURE
from bls.engine.features.prediction.options import ESTIMATES
from bls.engine.features.presets.options import PRESET
from bls.engine.features.releases.options import COORDINATION
from bls.engine.features.switches.options import SWITCHES
from bls.engine.features.widths.options import MALLEABLE, RESIZE
from bls.power.options import Power
from bridge.options import declared as d
from bridge.scenarios.scenario import RECORDED, Application, Scenario
from traces.base.errors import InputError, at
from traces.base.options import SEED, ChosenFeature, Conflict, Option, has, named, needs, option_given, places, plain

# Tables are set by hand, as in ``bls.conflicts``.
# fmt: off

Values: TypeAlias = Mapping[str, Any]  #: given values, by the keys of options (``Option.key``)

_NO_APPLICATION: Final = f"with {a.ALS:recorded} no application is simulated"
_PROCESSES: Final = f"needs {d.COUPLING:pool} or process: inline runs no other"

#: An option of the application level, with a value that is not its default.
_NOT_BY_DEFAULT: Final[Mapping[Option[Any], Any]] = {
    a.VARIATION: 0.5,
    a.TASKS_PER_CORE: 2,
    a.APPLICATIONS: "applications.toml",
    a.SPEEDS: ("square:period=60s,low=0.5",),
    a.LENGTHS: "gamma:cov=0.5",
    a.OVERHEAD: 5,
    a.LATENCY: 5,
    a.ASSIGNMENT: "master",
    a.NETWORK: "lv08",
}

# Of a :class:`bridge.scenarios.scenario.Scenario`.

_RECORDED: Final = has(f"{a.ALS:recorded}", lambda scenario: not scenario.application.simulated, als="recorded")


def _option_of_level(option: Option[Any], field: str) -> ChosenFeature:
    def given(scenario: Any) -> str:
        level = scenario.application
        return at(str(option), level.map.source if option is a.APPLICATIONS else getattr(level, field))

    def found(scenario: Any) -> bool:
        return bool(getattr(scenario.application, field) != option.default)

    return has(str(option), found, given, **{option.keyword: _NOT_BY_DEFAULT[option]})


def _without_applications(feature: ChosenFeature, allowed: str = "") -> Conflict:
    return Conflict(feature, _RECORDED, reason=_NO_APPLICATION, allowed=allowed)


_RESIZES: Final = has(
    f"{RESIZE} except none", lambda scenario: scenario.batch.resizing or scenario.batch.molds,
    lambda scenario: f"{RESIZE:{scenario.batch.resized}}", malleable="1", resize="shrink"
)

#: Also checked when a study is read, before anything runs.
UNRESIZED: Final = needs(
    _RESIZES, MALLEABLE, lambda scenario: scenario.batch.malleable is None, ", the jobs whose width may change",
    example={"malleable": None}
)

SCENARIO: Final[tuple[Conflict, ...]] = (
    *(
        _without_applications(_option_of_level(place.option, place.path[0]))
        for place in places(Application)
        if place.option in _NOT_BY_DEFAULT
    ),
    _without_applications(
        has(
            f"{COORDINATION} except none", lambda scenario: scenario.batch.releases,
            lambda scenario: f"{COORDINATION:{scenario.batch.coordination}}", coordination="release",
        ),
        "none"
    ),
    _without_applications(_RESIZES, "none"),
    UNRESIZED,
    needs(
        has(str(a.RESIZE_COST), lambda scenario: scenario.application.resize_ns, resize_ns=5),
        MALLEABLE, lambda scenario: scenario.batch.malleable is None, ", the jobs whose width may change"
    ),
    _without_applications(
        has(f"{b.POWER:working}", lambda scenario: scenario.power.of == "working", power="working"),
        "held"
    ),
)

#: Of a scenario whose policy is to be found.
DECIDED: Final[Conflict] = Conflict(
    has(str(b.BLS_COMMAND), lambda scenario: scenario.execution.bls_command is not None, bls_command="x"),
    has(str(b.BLS), lambda scenario: scenario.batch.policy is not None, bls="sjf"),
    reason="not with {second}: the command is the policy", allowed="one of them"
)

# Of a :class:`bridge.scenarios.ready.ReadyScenario`.


def _network(ready: Any) -> str:
    return f"{a.NETWORK:{ready.options.application.network}}"


READY: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(str(SWITCHES), lambda ready: ready.options.batch.switches is not None, switches="1"),
        has(
            f"an {b.ALLOCATOR} that ignores switches", lambda ready: ready.blind_to_switches,
            lambda ready: f"allocator {ready.allocator.name}",
        ),
        reason="{second} ignores switches", allowed="topology"
    ),
    Conflict(
        has(
            _RESIZES.name, lambda ready: ready.options.batch.resizing,
            lambda ready: f"{RESIZE:{ready.options.batch.resized}}", **_RESIZES.example,
        ),
        has(
            f"a {a.NETWORK} between tasks of graphs", lambda ready: ready.sends, _network, applications="graphs.toml",
            network="lv08",
        ),
        "as the data on a released core would be lost", a.NETWORK.default
    ),
    Conflict(
        has(f"{a.NETWORK} except none", lambda ready: ready.networked, _network, network="lv08"),
        has("no task graphs", lambda ready: not (ready.sends or ready.fetches)),
        reason="no job has a task graph, or devices with data=first", allowed=a.NETWORK.default
    ),
)

# Of a :class:`bridge.scenarios.scenario.Execution`: hosts that may join.

_LISTENS: Final = option_given(d.LISTEN, lambda how: how.listen, "tls://127.0.0.1:0")
_ALS_COMMAND: Final = option_given(d.ALS_COMMAND, lambda how: how.als_command, "x")
_POOL: Final[Mapping[str, Any]] = {"coupling": "pool"}


def _of_hosts(option: Option[Any]) -> Conflict:
    feature: ChosenFeature = option_given(option, lambda how: getattr(how, option.key), "file")
    return needs(feature, d.LISTEN, lambda how: how.listen is None, example=_POOL)


PROCESSES: Final[tuple[Conflict, ...]] = (
    _of_hosts(d.TOKEN_FILE),
    _of_hosts(d.CERTIFICATE),
    Conflict(
        _LISTENS,
        has(str(d.ALS_COMMAND), lambda how: how.als_command is not None, als_command="x"),
        reason="not with {second}: hosts run our own application simulator", example=_POOL
    ),
    needs(
        _LISTENS, d.TOKEN_FILE, lambda how: how.token_file is None,
        " FILE, the secret that hosts need to join; (umask 077; openssl rand -hex 32 > FILE) makes one", example=_POOL
    ),
)

# Of ``bridge.runs.simulation.ResultRequest``: a ready scenario, its execution, and the requested results.

_INLINE: Final = has(f"{d.COUPLING:inline}", lambda run: run.execution.coupling == "inline")
_REPLAYED: Final = has(f"{a.ALS:recorded}", lambda run: run.ready.technique is None, als="recorded")
_OWN_PROGRAM: Final = has(
    str(d.ALS_COMMAND), lambda run: run.execution.als_command is not None, lambda run: _ALS_COMMAND.text(run.execution),
    als_command="x"
)
_JOINED: Final = has(
    str(d.LISTEN), lambda run: run.execution.listen is not None, listen="tls://127.0.0.1:0", token_file="token"
)


RUN: Final[tuple[Conflict, ...]] = (
    Conflict(_OWN_PROGRAM, _INLINE, reason=f"{_PROCESSES} program"),
    Conflict(
        _JOINED, _REPLAYED,
        reason=f"needs {d.COUPLING:pool} or process: with {a.ALS:recorded} there are no applications", example=_POOL
    ),
    Conflict(_JOINED, _INLINE, reason=f"{_PROCESSES} process"),
    Conflict(_OWN_PROGRAM, _REPLAYED, reason=_NO_APPLICATION, example=_POOL),
    Conflict(
        has(
            f"{b.POWER:working}",
            lambda run: run.ready.power is not None and run.ready.power.options.of == "working", power="working",
        ),
        has(f"a run without records of tasks ({d.NO_TASKS})", lambda run: not run.keep_tasks, keep_tasks=False),
        reason=f"needs records of tasks, which {d.NO_TASKS} omits", allowed=f"{d.KEEP_TASKS}, or held"
    ),
)

# Of typed values, by the keys of options: in Python an option without effect is not an error.


def _typed(option: Option[Any], example: Any = None, said: str = "") -> ChosenFeature:
    # An option with a value other than its default. Where the default is not 0, 0 is a value, too.
    def found(given: Values) -> bool:
        value = given.get(option.key)
        zero_counts = option in (d.PHASE, d.REPEATS) and value == 0 and value is not False
        return zero_counts or value not in (None, False, option.default)

    return has(said or str(option), found, **{option.key: example})


def _lacks(option: Option[Any]) -> ChosenFeature:
    return has(f"no {option}", lambda given: given.get(option.key) in (None, False, option.default))


def _no_use(option: Option[Any], example: Any) -> Conflict:
    # Of an option of other processes, including a scheduler.
    timed = option is d.TIMEOUT

    def found(given: Values) -> bool:
        return given["coupling"] == "inline" and not (timed and given["bls_command"] is not None)

    lacking: ChosenFeature = has(_INLINE.name + f" and no {b.BLS_COMMAND}" * timed, found)
    return Conflict(_typed(option, example), lacking, reason=f"{_PROCESSES} process" + f"; or {b.BLS_COMMAND}" * timed)


def _not_traced(option: Option[Any], example: Any) -> Conflict:
    lacking: ChosenFeature = has(
        f"{d.TRACE_FORMATS:none}", lambda given: given.get("trace") == d.NO_FORMATS, trace=d.NO_FORMATS
    )
    return Conflict(_typed(option, example), lacking, reason="{second} writes no trace", allowed="any format")


def _at_once(second: ChosenFeature, why: str = "it needs all jobs at once", allowed: str = "without it") -> Conflict:
    streamed = has(str(b.STREAM), lambda given: given.get("stream"), stream=True, als="recorded", trace="none")
    return Conflict(streamed, second, reason=f"{{second}}: {why}", allowed=allowed)


#: Options that need all jobs at once, or jobs that are not in the order of their submits.
_WHOLE: Final[tuple[Option[Any], ...]] = (
    b.OBSERVE, d.LIVE, d.CHECK, d.NODES, DECISIONS, d.SAME_AS,
    b.SELECT, PRESET, b.CANCELLED, b.REQUESTS, WINDOWS, DEPENDENCIES, SWITCHES,
    *(place.option for place in places(Power)[1:]), b.POWER,  # the last is implied by any of them
)

TYPED: Final[tuple[Conflict, ...]] = (
    _no_use(d.WORKERS, 2),
    _no_use(d.TIMEOUT, 5.0),
    Conflict(
        _typed(d.TASKS_TABLE, True),
        has(f"{a.ALS:recorded}", lambda given: given["als"] == RECORDED, als="recorded"),
        reason="with {second} there are no tasks"
    ),
    _not_traced(d.TRACE_DETAIL, "task"),
    _not_traced(d.TRACE_WINDOW, "1h..2h"),
    _not_traced(d.TRACE_CORES, "0"),
    _at_once(
        has(
            f"{a.ALS} except recorded", lambda given: given["als"] != RECORDED,
            lambda given: f"{a.ALS:{plain(given['als'])}}", als="static",
        ),
        "a stream simulates no application level", RECORDED
    ),
    _at_once(
        has(str(d.TRACE_FORMATS), lambda given: given["trace"] != d.NO_FORMATS, trace="otf2"),
        f"a trace is made of all jobs at once; give {d.TRACE_FORMATS:none}", ""
    ),
    *(_at_once(_typed(option, "x")) for option in _WHOLE),
    _at_once(
        has(f"{b.ALLOCATOR:given}", lambda given: given["allocator"] == "given", allocator="given"),
        "it needs the cores of all jobs at once", "another one"
    ),
    _at_once(
        has(
            f"a {d.WORKLOAD} that a function makes", lambda given: named("bls.workloads:is_seeded")(str(given["workload"])),
            lambda given: str(given["workload"]), workload="x.py:jobs",
        ),
        "a function makes all jobs at once", "a log"
    ),
)

# The same for a replay.

_ONLY_REPORT: Final = has(f"{d.REPORT:only}", lambda given: given.get("report") == "only", report="only")
_RATE: Final = _typed(d.RATE, 10.0)
_OF_REPEATS: Final[tuple[tuple[Option[Any], object], ...]] = ((d.REPEATS, 2), (d.RATES, "10"), (d.SIZES, "50"))

REPLAY: Final[tuple[Conflict, ...]] = (
    Conflict(
        _typed(b.PLATFORM, "paper"), _typed(d.SLURM_CONF, "slurm.conf"), "whose nodes are the machine", "one of them"
    ),
    Conflict(_typed(d.SETTLE, 5.0), _RATE, "with which the clock makes no jumps", "one of them"),
    *(Conflict(_typed(*given), _ONLY_REPORT, "which starts no Slurm") for given in _OF_REPEATS),
    *(
        Conflict(_typed(*given), _lacks(d.REPORT), reason=f"needs {d.REPORT}")
        for given in ((d.BESIDE, "sjf"), *_OF_REPEATS, (d.WIDTH, "3in"), (d.NO_TITLE, True))
    ),
    Conflict(_typed(d.REPORT, "also"), _RATE, "as the replay of a report is exact", str(d.RATES)),
    Conflict(
        _typed(d.PHASE, 10.0), _typed(d.REPEATS, 2), "as each repeat has its own phase", "one of them",
        example={"report": "also"}
    ),
    Conflict(_typed(d.SIZES, "50"), _lacks(d.RATES), reason=f"needs {d.RATES}", example={"report": "also"}),
)

#: Options of a scenario that no cell has: a study has its own seeds and workloads, and other hosts do not join its runs.
NOT_OF_CELLS: Final = tuple(one.name for one in (SEED, d.WORKLOAD, DECISIONS, d.LISTEN, d.TOKEN_FILE, d.CERTIFICATE))

WITHOUT_EFFECT: Final = (d.COUPLING.name, d.WORKERS.name, d.TIMEOUT.name)  #: options that cannot change a result

#: Options for scheduling in our engine; a cell that the real Slurm schedules ignores them.
OF_ENGINE: Final = tuple(
    option.name
    for option in (b.BLS, b.BLS_COMMAND, b.BACKFILL, b.ALLOCATOR, ESTIMATES, b.KILL_AT_WALLTIME, DECISION_COST)
)

#: A replay's options of a scenario.
REPLAYED: Final[tuple[Option[Any], ...]] = (
    b.SELECT, b.OVERSIZE, b.PLATFORM, PRESET, b.CANCELLED,
    b.MEMORY, b.REQUESTS, WINDOWS, FAILURES, ON_FAILURE, MAX_ATTEMPTS, DEPENDENCIES, SWITCHES,
    a.ALS, a.VARIATION, a.TASKS_PER_CORE, a.LENGTHS, a.APPLICATIONS, a.OVERHEAD, a.LATENCY, a.ASSIGNMENT, a.NETWORK,
)


def _not_replayed(option: Option[Any]) -> Conflict:
    given: ChosenFeature = has(str(option), lambda cell: option.name in cell, "", **{option.name: True})
    slurm: ChosenFeature = has("batch slurm", lambda _: True)
    return Conflict(given, slurm, reason="not with {second}: a replay ignores it", allowed=", ".join(map(str, REPLAYED)))


#: Of a study's cell that Slurm schedules: the options that have an effect, by their names.
SLURM_CELLS: Final[tuple[Conflict, ...]] = tuple(
    _not_replayed(place.option)
    for place in places(Scenario)
    if place.option.name not in (*(one.name for one in REPLAYED), b.SLACK.name, *NOT_OF_CELLS, *WITHOUT_EFFECT, *OF_ENGINE)
)

#: Of the dependencies of jobs to replay, if any (``bls.constraints.dependencies.Dependencies``).
REPLAYED_JOBS: Final[tuple[Conflict, ...]] = (
    Conflict(
        has(
            f"{DEPENDENCIES} on several jobs", lambda found: found is not None and found.several, str(DEPENDENCIES),
            dependencies=True, several=True,
        ),
        has("a replay", lambda _: True), reason="jobs that wait for several others cannot be replayed",
        allowed="one preceding job each"
    ),
)

# Options without effect unless another one is given, among the values of each run, by their keys.


def _companion(option: Option[Any], example: Any) -> ChosenFeature:
    def said(run: Values) -> str:
        value = run[option.key]
        if option.unit == "ns":
            return str(option)  # it was given with a unit
        return f"{option:{f'{value:g}' if isinstance(value, float) else value}}"

    return has(str(option), lambda run: run.get(option.key) not in (None, option.default), said, **{option.key: example})


def _loses_nothing(run: Values) -> bool:
    # Jobs may be cut by external policies or applications, failures, maintenance, or speeds that end at 0.
    from bls.policies import POLICIES, WRITTEN

    bls = run["bls"]
    ours = isinstance(bls, str) and bls.partition(":")[0] in (*POLICIES, *WRITTEN)
    return ours and not any(run.get(name) for name in ("failures", "windows", "speeds", "als_command"))


def _policy_given(run: Values) -> str:
    return f"{b.BLS:{bls if isinstance(bls := run['bls'], str) else bls.name}}"


def _no_loss(option: Option[Any], example: Any) -> Conflict:
    lacking: ChosenFeature = has(f"no {FAILURES}, {WINDOWS}, {a.SPEEDS} or {d.ALS_COMMAND}", _loses_nothing)
    without = f"without it, {WINDOWS}, {a.SPEEDS} or {d.ALS_COMMAND} no job loses its cores"
    return Conflict(_companion(option, example), lacking, reason=f"needs {FAILURES}; {without}")


COMPANIONS: Final[tuple[Conflict, ...]] = (
    Conflict(
        _companion(b.SLACK, 3.0),
        has(
            f"a {b.BLS} that reads no deadlines", lambda run: not named("bls.policies:reads_deadlines")(run["bls"]),
            _policy_given,
        ),
        reason="no effect on {second}; only policies that read deadlines use it", allowed="edf"
    ),
    Conflict(
        _companion(b.SIGNALS, "signals.csv"),
        has(
            f"a {b.BLS} that reads no signals",
            lambda run: run.get("bls_command") is None and not named("bls.policies:reads_signals")(run["bls"]),
            _policy_given,
        ),
        reason="no effect on {second}; only policies that read prices or emissions use it",
        allowed="a policy that reads them, or twolevel power afterwards"
    ),
    _no_loss(ON_FAILURE, "lose"),
    _no_loss(MAX_ATTEMPTS, 3),
    Conflict(
        _companion(a.RESIZE_COST, 5),
        # Without malleable jobs a scenario reports it.
        has(
            f"a {RESIZE} that changes no width of running jobs",
            lambda run: run["malleable"] is not None and run["resize"] in ("none", "mold"), malleable="1",
            resize="none"
        ),
        reason=f"needs a {RESIZE} that changes the width of running jobs",
        allowed="all except none and mold",
    ),
)


def check_used(runs: Iterable[Values]) -> None:
    """Raise InputError if an option has no effect in any run that has it. An option that a run lacks counts as not given."""
    of_runs = list(runs)
    for row in COMPANIONS:
        given = [run for run in of_runs if row.first.found(run)]
        if given and all(map(row.second.found, given)):
            lacking = " or ".join(dict.fromkeys(map(row.second.text, given)))
            raise InputError(row.said(row.first.text(given[0]), lacking))
