"""Applications drawn by hand: a TOML file has tasks and cores, what happens to them, and what becomes of them.

::

    [[case]]
    name = "The tasks of a lost core are done again, the lowest first"
    why = "Core 0 has tasks 0 to 2 and is lost at 15, within task 1."
    tasks = "10*6"
    cores = "1 1"
    by = "gss"
    happens = ["15 lost 0"]
    ran = "0:0-10 1:20-30 1:30-40 1:0-10 1:10-20 1:40-50"

``tasks`` are lengths in ns on a core of 1 GFLOP/s, ``cores`` speeds in GFLOP/s. ``by`` names the technique, of each phase
where there are several ("ss | serial"; a list is of several cases), and ``parts`` their numbers of tasks. A graph has
``edges`` ("0>1:50", with bytes), perhaps ``hosts`` of its cores, ``mapped`` places of its tasks for ``by = "cores"`` or
``"hosts"``, and a ``network``. ``workers`` are the kinds of the last slots (``als.workers``), and ``on`` those of each
phase ("0 1 | 1"; 0: cores); a loop's slots may have ``hosts``, and a ``star`` between them ([model, latency, Gbit/s]).
Other keys are fields of a :class:`Scenario`. ``happens``, by instants in ns: "lost CORE", "speed GFLOPS CORE", and,
after all else of the instant, "hint CORES", "scale FACTOR [CORES]" and "resize [+NUMBER[:SPEED]] [-PLACE] [cost NS]".

The outcome: ``ran`` has core:start-end of each task, ``-`` if it never began; the others are :data:`OUTCOMES`. Each case also
agrees with the slow reference.
"""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import test_engine_reference as of_loops
import test_graph_engine_reference as of_graphs
from applications import Scenario, Star
from graph_scenarios import GraphScenario, Platform
from reference.application import Resize

from als.workers import worker_kinds

FOLDER = Path(__file__).parent / "applications"


def _row(values: Any) -> str:
    return " ".join("-" if value is None else str(value) for value in values)


def _of_tasks(show: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lambda run: _row(None if task is None else show(task) for task in run.tasks)


#: The texts of what may be expected of a case.
OUTCOMES: dict[str, Callable[[Any], Any]] = {
    "ran": _of_tasks(lambda task: f"{task.core}:{task.start}-{task.end}"),
    "core": _of_tasks(lambda task: task.core),
    "begin": _of_tasks(lambda task: task.start),
    "chunk": _of_tasks(lambda task: task.chunk),
    "finish": lambda run: _row(run.finish),
    "busy": lambda run: _row(run.busy),
    "released": lambda run: _row(run.released),
    "end": lambda run: run.end,
    "chunks": lambda run: run.chunks,
    "scheduling": lambda run: run.scheduling,
    "chosen": lambda run: run.chosen,
    "ahead": lambda run: run.ahead,
    "wished": lambda run: [list(wish) for wish in run.wishes],
    "transfer_wait": lambda run: run.transfer_wait,
    "fails": lambda run: run,
}


def cases() -> list[Any]:
    return [
        pytest.param(case | {"by": by}, id=f"{path.stem}: {case['name']}{f', {by}' if len(several) > 1 else ''}")
        for path in sorted(FOLDER.glob("*.toml"))
        for case in tomllib.loads(path.read_text(encoding="utf-8"))["case"]
        for several in [case["by"] if isinstance(case["by"], list) else [case["by"]]]
        for by in several
    ]


def scenario(case: Mapping[str, Any]) -> Scenario | GraphScenario:
    given = {key: value for key, value in case.items() if key not in {"name", "why", *OUTCOMES}}
    tasks = [1e-9 * ns for ns in _numbers(given.pop("tasks"))]
    cores, by = _numbers(given.pop("cores")), given.pop("by")
    fields: dict[str, Any] = _happens(given.pop("happens", []))
    if "latency" in given:
        fields["latency"] = [int(ns) for ns in given.pop("latency").split()]
    if "wishes" in given:
        fields["wishes"] = tuple(given.pop("wishes"))
    if "workers" in given:
        fields["kinds"] = worker_kinds(given.pop("workers"), "workers")
    if "on" in given:
        fields["on"] = tuple(frozenset(map(int, some.split())) for some in given.pop("on").split(" | "))
    if "edges" not in given:
        if "hosts" in given:
            fields["hosts"] = tuple(int(host) for host in given.pop("hosts").split())
        if "star" in given:
            fields["star"] = Star(*given.pop("star"))
        phases = [None if name == "serial" else name for name in by.split(" | ")]
        parts = [int(n) for n in given.pop("parts", str(len(tasks))).split()]
        return Scenario(tasks, cores, phases, parts, **fields, **given)
    edges = [edge.partition(":") for edge in given.pop("edges").split()]
    ends = [(*map(int, pair.split(">")), float(size or 0)) for pair, _, size in edges]
    hosts = [int(host) for host in given.pop("hosts", "0 " * len(cores)).split()]
    mapped = tuple(int(place) for place in given.pop("mapped", "").split())
    platform = Platform(given.pop("network", "none"))
    return GraphScenario(tasks, ends, cores, hosts, by, mapped, platform=platform, **fields, **given)  # type: ignore[arg-type]


def _numbers(text: str) -> list[float]:
    """ "10*3 5" as 10, 10, 10, 5."""
    parts = [part.partition("*") for part in text.split()]
    return [float(number) for number, _, times in parts for _ in range(int(times or 1))]


def _happens(lines: list[str]) -> dict[str, Any]:
    changes, hints, scales, resizes = [], [], [], []
    for line in lines:
        at, what, *words = line.split()
        match what:
            case "lost":
                changes.append((int(at), int(words[0]), 0.0))
            case "speed":
                changes.append((int(at), int(words[1]), float(words[0])))
            case "hint":
                hints.append((int(at), frozenset(map(int, words))))
            case "scale":
                scales.append((int(at), frozenset(map(int, words[1:])) or None, float(words[0])))
            case "resize":
                cost = int(words.pop(words.index("cost") + 1)) if "cost" in words else 0
                come = [word[1:].partition(":") for word in words if word[0] == "+"]
                taken = frozenset(int(word[1:]) for word in words if word[0] == "-")
                given = tuple((int(number), float(speed or 1), 0) for number, _, speed in come)
                resizes.append(Resize(int(at), given, taken, cost))
            case _:
                raise ValueError(line)
    return {"changes": tuple(changes)} | {
        key: tuple(value) for key, value in (("hints", hints), ("scales", scales), ("resizes", resizes)) if value
    }


@pytest.mark.parametrize("case", cases())
def test_results_of_drawn_applications(case: dict[str, Any]) -> None:
    expected = {name: case[name] for name in OUTCOMES if name in case}
    assert expected
    drawn = scenario(case)
    found = drawn.found()
    assert {name: OUTCOMES[name](found) for name in expected} == expected
    if isinstance(drawn, GraphScenario):
        of_graphs.check(drawn, [])
    else:
        of_loops.check(drawn, [])
