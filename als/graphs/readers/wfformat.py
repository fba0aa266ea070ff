"""Reader of WfCommons' WfFormat 1.5 and 1.6: executed workflows, in JSON.

Schema: https://github.com/wfcommons/WfFormat; Coleman et al. (2022, doi:10.1016/j.future.2021.09.043).
"""

from typing import Any

from als.graphs.readers.contract import Files, GraphRows, text_of
from traces.base.errors import shown
from traces.base.given_file import parse_json

#: The supported versions: older ones name tasks and files differently; 1.6 adds optional members that are not read.
VERSIONS = ("1.5", "1.6")

_SPECIFICATION, _EXECUTION = "workflow.specification", "workflow.execution"


def read_wfformat(data: bytes, rows: GraphRows, core_gflops: float) -> None:
    """Read tasks named by their ``id``, with an edge where either task names the other as parent or child. Raises InputError if
    it is another version, a task was not executed, or a name is unknown."""
    # Members that are not read may be NaN: programs in Python write it.
    document = parse_json(text_of(data, rows, "JSON"), rows.source, parse_constant=float)
    if not isinstance(document, dict) or "workflow" not in document:
        raise rows.error("", "JSON without the key workflow; allowed: WfFormat")
    version = document.get("schemaVersion")
    if version not in VERSIONS:
        found = "no schemaVersion" if version is None else f"schemaVersion {shown(version)}"
        raise rows.error("", f"WfFormat with {found}; allowed: {' or '.join(map(repr, VERSIONS))}")
    workflow = _member(rows, document, "", "workflow", dict)
    specification = _member(rows, workflow, "workflow", "specification", dict)
    execution = _member(rows, workflow, "workflow", "execution", dict)
    tasks = _items(rows, specification, _SPECIFICATION, "tasks")
    executed = _items(rows, execution, _EXECUTION, "tasks")
    seconds = _numbers(rows, executed, f"{_EXECUTION}.tasks", "task", "runtimeInSeconds")
    of_files = _items(rows, specification, _SPECIFICATION, "files") if "files" in specification else []
    sizes = _numbers(rows, of_files, f"{_SPECIFICATION}.files", "file", "sizeInBytes")
    files = Files(rows)
    for number, task in enumerate(tasks):
        place = f"{_SPECIFICATION}.tasks[{number}]"
        name = _id(rows, task, place)
        if name not in seconds:
            raise rows.error(place, f"task {shown(name)} has no runtimeInSeconds in {_EXECUTION}.tasks")
        rows.add_task(name, seconds[name] * core_gflops, place)
        for key, held in (("inputFiles", files.read), ("outputFiles", files.written)):
            for file in _names(rows, task, place, name, key):
                if file not in sizes:
                    missing = f"there is no file {shown(file)} in {_SPECIFICATION}.files"
                    raise rows.error(place, f"task {shown(name)}: {key}: {missing}")
                held[name][file] = sizes[file]
    _add_works(rows, executed, core_gflops)
    for name in seconds:
        if name not in rows:
            raise rows.error(f"{_EXECUTION}.tasks", f"there is no task {shown(name)} in {_SPECIFICATION}.tasks")
    _add_edges(rows, tasks, files)


def _add_works(rows: GraphRows, executed: list[dict[str, Any]], core_gflops: float) -> None:
    # WfFormat permits further properties: an execution may state run times on other kinds of workers.
    for number, task in enumerate(executed):
        times = task.get("runtimeInSecondsOn", {})
        place = f"{_EXECUTION}.tasks[{number}]"
        if not isinstance(times, dict):
            raise rows.error(place, f'runtimeInSecondsOn: {shown(times)}; allowed: an object, as {{"gpu": 0.5}}')
        for kind, value in times.items():
            seconds = rows.amount(place, f"task {shown(task['id'])}: runtimeInSecondsOn.{kind}", value)
            if task["id"] in rows:
                rows.add_work(task["id"], kind, seconds * core_gflops)


def _add_edges(rows: GraphRows, tasks: list[dict[str, Any]], files: Files) -> None:
    known: set[tuple[str, str]] = set()
    for number, task in enumerate(tasks):
        name, place = task["id"], f"{_SPECIFICATION}.tasks[{number}]"
        edges = [(parent, name) for parent in _names(rows, task, place, name, "parents")]
        edges += [(name, child) for child in _names(rows, task, place, name, "children")]
        for edge in edges:
            if edge not in known:
                known.add(edge)
                rows.add_edge(*edge, files.passed(*edge, place), place)


def _member(rows: GraphRows, holder: dict[str, Any], place: str, key: str, kind: type) -> Any:
    value = holder.get(key)
    if not isinstance(value, kind):
        what = "a list" if kind is list else "an object"
        path = f"{place}.{key}" if place else key
        raise rows.error(path, f"{'is missing' if value is None else shown(value)}; allowed: {what}")
    return value


def _items(rows: GraphRows, holder: dict[str, Any], place: str, key: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = _member(rows, holder, place, key, list)
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise rows.error(f"{place}.{key}[{number}]", f"{shown(item)}; allowed: an object")
    return items


def _id(rows: GraphRows, item: dict[str, Any], place: str) -> str:
    name = item.get("id")
    if not isinstance(name, str):
        raise rows.error(place, f"id {'is missing' if name is None else shown(name)}; allowed: text")
    return name


def _names(rows: GraphRows, task: dict[str, Any], place: str, name: str, key: str) -> list[str]:
    names = task.get(key, [])
    if not isinstance(names, list) or not all(isinstance(one, str) for one in names):
        raise rows.error(place, f"task {shown(name)}: {key}: {shown(names)}; allowed: a list of ids")
    return names


def _numbers(rows: GraphRows, items: list[dict[str, Any]], where: str, what: str, key: str) -> dict[str, float]:
    # One number per item, by its id.
    found: dict[str, float] = {}
    for number, item in enumerate(items):
        place = f"{where}[{number}]"
        name = _id(rows, item, place)
        if name in found:
            raise rows.error(place, f"a second {what} {shown(name)}; allowed: different ids")
        value = item.get(key)
        if value is None:
            raise rows.error(place, f"{what} {shown(name)} has no {key}")
        if isinstance(value, str):
            raise rows.error(place, f"{what} {shown(name)}: {key}: {shown(value)} is text; allowed: a number")
        found[name] = rows.amount(place, f"{what} {shown(name)}: {key}", value)
    return found
