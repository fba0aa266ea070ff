"""Contents of the folder of a run, and of an OTF2 archive."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bridge.runs.directory import read_record
from bridge.runs.stored import hosts
from traces.base.errors import InputError
from traces.base.given_file import near_files
from traces.base.time import format_ns
from traces.tables import read_jobs, table_rows

#: Traces by the file to be opened, and the format of each.
_TRACES = {
    "trace/traces.otf2": "otf2",
    "trace/trace.perfetto-trace": "perfetto",
    "trace/trace.json": "chrome",
    "trace/trace.paje": "paje",
    "trace/csv/cores.csv": "csv",
    "trace/text/batch.txt": "text",
    "trace/jobs.csv": "batsim",
    "trace/jobs.swf": "swf",
    "trace/measured/measurement.json": "measured",
}


def described(path: Path) -> dict[str, Any]:
    """Contents of a result of ``twolevel run``, or of an OTF2 archive. Raises InputError if it cannot be read as either."""
    if path.suffix == ".otf2" and path.is_file():
        return {"archive": str(path), **_archive(path)}
    if not path.exists():
        raise InputError(f"{path}: there is no such folder{near_files(path)}")
    if path.is_file():
        raise InputError(f"{path}: is not an OTF2 archive; allowed: traces.otf2, or the folder of a run")
    if not (path / "run.json").is_file() and (anchors := sorted(path.glob("*.otf2"))):
        return {"archive": str(anchors[0]), **_archive(anchors[0])}
    return {"run": str(path), **_run(path)}


def _run(folder: Path) -> dict[str, Any]:
    record = read_record(folder)
    first_core, names = hosts(folder)
    files = sorted(folder.glob("*.parquet"))
    tables = {one.name: {"rows": table_rows(one), "bytes": one.stat().st_size} for one in files}
    jobs = read_jobs(folder / "jobs.parquet")
    started = jobs["start_ns"].to_numpy(np.int64) >= 0
    last = int(jobs["end_ns"].max()) if started.any() else None
    written = {kind: file for file, kind in _TRACES.items() if (folder / file).is_file()}
    traces = {kind: {"file": file, "bytes": _bytes(folder, file)} for kind, file in written.items()}
    found: dict[str, Any] = {
        "hosts": len(names),
        "cores": int(first_core[-1]),
        "jobs": int(jobs["job_id"].nunique()),
        "attempts": len(jobs),
        "started": int(started.sum()),
        "tasks": int(jobs["tasks"].sum()),
        "chunks": int(jobs["chunks"].sum()),
        "first_submit_ns": int(jobs["submit_ns"].min()) if len(jobs) else None,
        "last_end_ns": last,
        "arguments": {name: (record.get("arguments") or {}).get(name) for name in ("workload", "bls", "als", "seed")},
        "tables": tables,
        "traces": traces,
    }
    if "otf2" in traces:
        found["otf2"] = _archive(folder / written["otf2"])
    return found


def _bytes(folder: Path, file: str) -> int:
    # OTF2, CSV, text and measurements consist of several files.
    path = folder / file
    files = [path]
    if path.suffix == ".otf2":
        files += [path.with_suffix(".def"), *path.with_suffix("").rglob("*")]
    elif path.parent.name in ("csv", "text", "measured"):
        files = list(path.parent.rglob("*"))
    return sum(one.stat().st_size for one in files if one.is_file())


def _archive(path: Path) -> dict[str, Any]:
    """The definitions of an OTF2 archive, whoever wrote it; its events are not read."""
    from traces.exporters.otf2.library import reading

    with path.open("rb") as file:  # for other files the library prints many lines
        if b"OTF2" not in file.read(16):
            raise InputError(f"{path}: is not a readable OTF2 archive: it does not begin like one")
    try:
        with reading(path) as trace:
            defined = trace.definitions
            clock = defined.clock_properties
            locations = [(str(one.type).rpartition(".")[2], one.number_of_events) for one in defined.locations]
            groups: dict[str, int] = {}
            for one in defined.groups:  # a long group is stored as several of the same name
                if str(one.group_type).endswith("REGIONS"):
                    groups[one.name] = groups.get(one.name, 0) + len(one.members)
            return {
                "locations": len(locations),
                "location_kinds": dict(Counter(kind for kind, _ in locations)),
                "regions": len(list(defined.regions)),
                "region_groups": groups,
                "metrics": [one.name for one in defined.metric_members],
                "events": sum(number for _, number in locations),
                "ticks_per_second": clock.timer_resolution,
                "first_tick": clock.global_offset,
                "ticks": clock.trace_length,
                "bytes": _bytes(path.parent, path.name),
            }
    except Exception as error:  # the binding raises various exceptions
        raise InputError(f"{path}: is not a readable OTF2 archive: {error}") from None


def info_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The same as rows of a summary: (name, text)."""
    archive = found.get("otf2") if "run" in found else found
    rows: list[tuple[str, str]] = []
    if "run" in found:
        words = found["arguments"]
        rows = [
            ("run", f"{found['run']}: {words['workload']}, {words['bls']} × {words['als']}, seed {words['seed']}"),
            ("machine", f"{found['hosts']} hosts, {found['cores']} cores"),
            ("jobs", f"{found['jobs']}, {found['attempts']} attempts, {found['started']} started"),
            ("tasks, chunks", f"{found['tasks']}, {found['chunks']}"),
        ]
        if found["last_end_ns"] is not None:
            span = f"{format_ns(found['first_submit_ns'])} to {format_ns(found['last_end_ns'])}"
            rows.append(("first submit to last end", span))
        rows += [(name, f"{one['rows']} rows, {_size(one['bytes'])}") for name, one in found["tables"].items()]
        rows += [(f"trace: {kind}", f"{one['file']}, {_size(one['bytes'])}") for kind, one in found["traces"].items()]
    if archive:
        kinds = ", ".join(f"{count} {kind}" for kind, count in archive["location_kinds"].items())
        rows += [("archive", found["archive"])] if "archive" in found else []
        rows += [
            ("OTF2 locations", f"{archive['locations']}: {kinds}"),
            ("OTF2 regions", str(archive["regions"])),
            *(("OTF2 region group", f"{name}: {count} regions") for name, count in archive["region_groups"].items()),
            ("OTF2 metrics", ", ".join(dict.fromkeys(archive["metrics"]))),
            ("OTF2 events", str(archive["events"])),
            ("OTF2 span", f"{format_ns(round(1e9 * archive['ticks'] / archive['ticks_per_second']))}"),
        ]
        rows += [] if "run" in found else [("bytes", _size(archive["bytes"]))]
    return rows


def _size(number: int) -> str:
    return f"{number / 1e6:.3g} MB" if number >= 10**5 else f"{number} bytes"
