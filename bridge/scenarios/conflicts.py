"""The features of both levels and of a run that do not go together, each pair once (``traces.base.options``).

Those of the batch level alone are in ``bls.conflicts``. :data:`SCENARIO` is of the options alone, :data:`PROCESSES` and
:data:`TYPED` of how a run is executed, :data:`RUN` of what is wanted of a run besides.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from als import options as a
from bls import options as b
from bridge.options import declared as d
from bridge.scenarios.application import Application
from traces.base.options import Conflict, Option, places

Row: TypeAlias = Conflict[Any]

_RECORDED: Final = f"{a.ALS:recorded}"
_NO_APPLICATION: Final = f"with {a.ALS:recorded} no application is simulated"
_INLINE: Final = f"{d.COUPLING:inline}"
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


def _without_applications(option: Option[Any], field: str) -> Row:
    def found(scenario: Any) -> bool:
        return not scenario.application.simulated and getattr(scenario.application, field) != option.default

    return Conflict(
        first=str(option),
        second=_RECORDED,
        given=f"{{{option.key}}}: ",
        reason=_NO_APPLICATION,
        found=found,
        example={"als": "recorded", option.keyword: _NOT_BY_DEFAULT[option]},
    )


#: Of a :class:`bridge.scenarios.scenario.Scenario`.
SCENARIO: Final[tuple[Row, ...]] = (
    *(
        _without_applications(place.option, place.path[0])
        for place in places(Application)
        if place.option in _NOT_BY_DEFAULT
    ),
    Conflict(
        first=f"{b.COORDINATION} but none",
        second=_RECORDED,
        given="{coordination}: ",
        reason=_NO_APPLICATION,
        allowed="none",
        found=lambda scenario: not scenario.application.simulated and scenario.batch.releases,
        example={"als": "recorded", "coordination": "release"},
    ),
    Conflict(
        first=f"{b.RESIZE} but none",
        second=_RECORDED,
        given="{resize}: ",
        reason=_NO_APPLICATION,
        allowed="none",
        found=lambda scenario: not scenario.application.simulated and (scenario.batch.resizing or scenario.batch.molds),
        example={"als": "recorded", "malleable": "1", "resize": "shrink"},
    ),
    Conflict(
        first=str(a.RESIZE_COST),
        second=f"no {b.MALLEABLE}",
        given=f"{a.RESIZE_COST}: ",
        reason=f"needs {b.MALLEABLE}, the jobs whose width may change",
        found=lambda scenario: scenario.application.resize_ns and scenario.batch.malleable is None,
        example={"resize_ns": 5},
    ),
    Conflict(
        first=f"{b.POWER_OF:working}",
        second=_RECORDED,
        given=f"{b.POWER_OF:working}: ",
        reason=_NO_APPLICATION,
        allowed="held",
        found=lambda scenario: scenario.power.of == "working" and not scenario.application.simulated,
        example={"als": "recorded", "power_of": "working"},
    ),
)


def _without_hosts(option: Option[Any]) -> Row:
    return Conflict(
        first=str(option),
        second=f"no {d.LISTEN}",
        given=f"{{{option.key}}}: ",
        reason=f"needs {d.LISTEN}",
        found=lambda how: how.listen is None and getattr(how, option.key) is not None,
        example={"coupling": "pool", option.keyword: "file"},
    )


def _inline(option: Option[Any], example: Any) -> Row:
    # Of an option of other processes. A scheduler has a socket, too.
    def found(how: Any) -> bool:
        used = how.coupling != "inline" or (option is d.SOCKET and how.bls_command is not None)
        return not used and getattr(how, option.keyword) != option.default

    return Conflict(
        first=str(option),
        second=_INLINE + f" and no {b.BLS_COMMAND}" * (option is d.SOCKET),
        given=f"{option}: ",
        reason=f"{_PROCESSES} process",
        found=found,
        example={option.keyword: example},
    )


#: Of a :class:`bridge.options.execution.Execution`: the hosts that may join.
PROCESSES: Final[tuple[Row, ...]] = (
    _without_hosts(d.TOKEN_FILE),
    _without_hosts(d.CERTIFICATE),
    Conflict(
        first=str(d.LISTEN),
        second=str(d.ALS_COMMAND),
        given="{listen}: ",
        reason=f"not with {d.ALS_COMMAND}: hosts have our own application simulator",
        found=lambda how: how.listen is not None and how.als_command is not None,
        example={"coupling": "pool", "listen": "tls://127.0.0.1:0", "als_command": "x"},
    ),
    Conflict(
        first=str(d.LISTEN),
        second=f"no {d.TOKEN_FILE}",
        given="{listen}: ",
        reason=f"needs {d.TOKEN_FILE} FILE, which hosts join with; (umask 077; openssl rand -hex 32 > FILE) makes one",
        found=lambda how: how.listen is not None and how.token_file is None,
        example={"coupling": "pool", "listen": "tls://127.0.0.1:0"},
    ),
)

#: The same, of what is typed: in Python what is of no use is no error.
TYPED: Final[tuple[Row, ...]] = (
    Conflict(
        first=str(d.BLS_TIMEOUT),
        second=f"no {b.BLS_COMMAND}",
        given=f"{d.BLS_TIMEOUT}: ",
        reason=f"needs {b.BLS_COMMAND}",
        found=lambda how: how.bls_command is None and how.bls_timeout_s != d.BLS_TIMEOUT.default,
        example={"bls_timeout_s": 5.0},
    ),
    _inline(d.WORKERS, 2),
    _inline(d.ALS_TIMEOUT, 5.0),
    _inline(d.SOCKET, "tcp"),
)

#: Of ``bridge.runs.simulation.ResultRequest``: a scenario that is ready, how it is executed, and what is wanted of it.
RUN: Final[tuple[Row, ...]] = (
    Conflict(
        first=str(d.ALS_COMMAND),
        second=_INLINE,
        given=f"{d.ALS_COMMAND} ",
        reason=f"{_PROCESSES} program",
        found=lambda run: run.execution.als_command is not None and run.execution.coupling == "inline",
        example={"als_command": "x"},
    ),
    Conflict(
        first=str(d.LISTEN),
        second=_RECORDED,
        given=f"{d.LISTEN} ",
        reason=f"needs {d.COUPLING:pool} or process: with {a.ALS:recorded} there are no applications",
        found=lambda run: run.execution.listen is not None and run.ready.technique is None,
        example={"coupling": "pool", "als": "recorded", "listen": "tls://127.0.0.1:0", "token_file": "token"},
    ),
    Conflict(
        first=str(d.LISTEN),
        second=_INLINE,
        given=f"{d.LISTEN} ",
        reason=f"{_PROCESSES} process",
        found=lambda run: run.execution.listen is not None and run.execution.coupling == "inline",
        example={"listen": "tls://127.0.0.1:0", "token_file": "token"},
    ),
    Conflict(
        first=str(d.ALS_COMMAND),
        second=_RECORDED,
        given="{als_command}: ",
        reason=_NO_APPLICATION,
        found=lambda run: run.execution.als_command is not None and run.ready.technique is None,
        example={"coupling": "pool", "als": "recorded", "als_command": "x"},
    ),
    Conflict(
        first=f"{b.POWER_OF:working}",
        second=f"a run without records of tasks ({d.KEEP_TASKS:False})",
        given=f"{b.POWER_OF:working}: ",
        reason=f"needs records of tasks, which {d.KEEP_TASKS:False} omits",
        allowed=f"{d.KEEP_TASKS}, or held",
        found=lambda run: run.power is not None and run.power.options.of == "working" and not run.keep_tasks,
        example={"power_of": "working", "keep_tasks": False},
    ),
    Conflict(
        first=str(b.FAIR_START),
        second=f"{b.DEPENDENCIES} on several jobs",
        given=f"{b.FAIR_START}: ",
        reason="not with jobs that wait for several others",
        allowed="one preceding job each",
        found=lambda run: run.fair_start and run.waits_for_several,
        example={"fair_start": True, "dependencies": True, "several": True},
    ),
    Conflict(
        first=str(b.FAIR_START),
        second=f"{b.LIMITS} with a {b.FALLBACK}",
        given=f"{b.FAIR_START}: ",
        reason=f"not with {b.FALLBACK}, as slowed jobs run for a different time",
        allowed=f"{b.FALLBACK:none}",
        found=lambda run: run.fair_start and run.power is not None and run.power.limits_jobs,
        example={"fair_start": True, "limits": [(0, None, 1000)], "fallback": "hold"},
    ),
    Conflict(
        first=str(b.FAIR_START),
        second=str(b.SLEEP_AFTER),
        given=f"{b.FAIR_START}: ",
        reason=f"not with {b.SLEEP_AFTER}, as it is not known which hosts would have slept",
        allowed="without it",
        found=lambda run: run.fair_start and run.power is not None and run.power.sleeps,
        example={"fair_start": True, "sleep_after_ns": 5},
    ),
)

#: What names in braces stand for on the page of all conflicts.
IN_GENERAL: Final[Mapping[str, str]] = {
    option.key: str(option)
    for option in (*_NOT_BY_DEFAULT, b.COORDINATION, b.RESIZE, d.TOKEN_FILE, d.CERTIFICATE, d.LISTEN, d.ALS_COMMAND)
}
