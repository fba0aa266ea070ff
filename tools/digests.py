"""Prove that a change of the code changes no result: digests of about seven hundred small runs, column by column.

    python -m tools.digests write FILE        # run all, and write the digests
    python -m tools.digests compare FILE      # run all again; list every column that differs, and exit with 1 if one does
    python -m tools.digests compare FILE --only 'pair *' --only '*windows*'

Digests are of the bytes of each column of a run's tables (jobs, tasks, transfers, decisions, …) and metrics. Columns of
measured times are omitted, by name; values that are not numbers are digested as text; all NaNs are equal.
``tests/digests.json`` has the digests of the commit in its head. A change that alters results on purpose writes the file again.
"""

from __future__ import annotations

import argparse
import fnmatch
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import bridge
from tools.digest_cases import Case, all_cases, write_files
from tools.digest_coverage import uncovered
from tools.digest_runs import RUNS, Tables

#: The digest of every column of every table of a run.
Digests = dict[str, dict[str, str]]

_DIGITS = 16

#: The table of a run that failed: its only column is the error.
_RAISED = "raised"


def column_digest(column: Any) -> str:
    """The digest of a column's values, their type and their number.

    Parameters
    ----------
    column : array, or list of plain values
        Numbers count as their bytes, every NaN as the same NaN, anything else as text.
    """
    values = np.asarray(column)
    if values.dtype.kind in "biuf":
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), np.array(np.nan, values.dtype), values)
        kind, data = values.dtype.str, np.ascontiguousarray(values).tobytes()
    else:
        kind, data = "text", json.dumps([str(value) for value in values.tolist()]).encode()
    return hashlib.sha256(f"{kind} {values.shape} ".encode() + data).hexdigest()[:_DIGITS]


def digests_of(tables: Tables) -> Digests:
    """The digests of every column of every table."""
    return {name: {column: column_digest(values) for column, values in table.items()} for name, table in tables.items()}


def _run(case: Case) -> Digests:
    # Errors are results, too: a comparison should show all differences.
    try:
        return digests_of(RUNS[case.kind](case.given))
    except Exception as error:
        return {_RAISED: {f"{type(error).__name__}: {error}": ""}}


def _run_all(cases: Sequence[Case]) -> dict[str, Digests]:
    # In a separate folder with the files that the cases name; other processes run the same code as this one.
    root = Path(bridge.__file__).resolve().parents[1]
    os.environ["PYTHONPATH"] = os.fspath(root)
    print(f"code: {root}", file=sys.stderr)
    found: dict[str, Digests] = {}
    before, began = Path.cwd(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        write_files(Path(folder))
        os.chdir(folder)
        try:
            for case in cases:
                found[case.name] = _run(case)
        finally:
            os.chdir(before)
    print(f"{len(found)} cases in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return found


def write_digests(found: Mapping[str, Digests], commit: str, path: Path) -> None:
    """Write digests, one line per case; the names of columns are in the head, once for all tables that share them."""
    shapes: dict[tuple[str, ...], int] = {}
    lines = []
    for case, tables in found.items():
        packed = {
            name: [shapes.setdefault(tuple(table), len(shapes)), "".join(table.values())]
            for name, table in tables.items()
        }
        lines.append(f"{json.dumps(case, ensure_ascii=False)}: {json.dumps(packed, separators=(',', ':'))}")
    heads = ",\n".join(json.dumps(shape) for shape in shapes)
    body = ",\n".join(lines)
    head = f'{{"commit": {json.dumps(commit)},\n"columns": [\n{heads}\n],'
    path.write_text(f'{head}\n"cases": {{\n{body}\n}}}}\n', "utf-8")


def read_digests(path: Path) -> tuple[str, dict[str, Digests]]:
    """The commit and the digests of a file that :func:`write_digests` wrote."""
    content = json.loads(path.read_text("utf-8"))
    return content["commit"], {
        case: {name: _unpacked(content["columns"][shape], text) for name, (shape, text) in tables.items()}
        for case, tables in content["cases"].items()
    }


def _unpacked(columns: Sequence[str], text: str) -> dict[str, str]:
    return {column: text[k * _DIGITS : (k + 1) * _DIGITS] for k, column in enumerate(columns)}


def differences(before: Mapping[str, Digests], after: Mapping[str, Digests]) -> Iterator[str]:
    """One line for each table that differs, with the differing columns, and for each table or case that only one side has."""
    for case in [*before, *(name for name in after if name not in before)]:
        if case not in before or case not in after:
            yield f"{case}: {'only now' if case in after else 'no more'}"
            continue
        old, new = before[case], after[case]
        for table in [*old, *(name for name in new if name not in old)]:
            if table not in new or table not in old:
                is_error = table == _RAISED and table in new
                more = f" {next(iter(new[table]))}" if is_error else " only now" if table in new else " no more"
                yield f"{case}: {table}:{more}"
                continue
            columns = [*old[table], *(name for name in new[table] if name not in old[table])]
            if changed := [name for name in columns if old[table].get(name) != new[table].get(name)]:
                yield f"{case}: {table}: {', '.join(changed)}"


def _commit() -> str:
    root = Path(bridge.__file__).resolve().parents[1]
    said = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def _check(cases: Sequence[Case], found: Mapping[str, Digests]) -> None:
    # The proof requires that every case ran, and that every coupling equals inline.
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), sorted(name for name in names if names.count(name) > 1)
    raised = [f"{name}: {next(iter(tables[_RAISED]))}" for name, tables in found.items() if _RAISED in tables]
    assert not raised, "\n".join(["refused:", *raised])
    for name, tables in found.items():
        plain, by, _ = name.partition(" by ")
        if by and f"{plain} by inline" in found:
            assert tables == found[f"{plain} by inline"], f"{name}: not as inline"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or compare; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.digests", description=__doc__.partition("\n")[0])
    parser.add_argument("do", choices=("write", "compare"))
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", action="append", help="with compare: only cases of names like this; may be repeated")
    said = parser.parse_args(arguments)
    cases, path = all_cases(), said.file.resolve()
    missing = uncovered(cases)
    assert not missing, f"no case has {', '.join(missing)}"
    if said.do == "write":
        found = _run_all(cases)
        _check(cases, found)
        write_digests(found, _commit(), path)
        return 0
    commit, before = read_digests(path)
    if said.only:
        cases = [case for case in cases if any(fnmatch.fnmatchcase(case.name, form) for form in said.only)]
        before = {case.name: before[case.name] for case in cases if case.name in before}
    lines = list(differences(before, _run_all(cases)))
    for line in lines:
        print(line)
    print(f"{len(before)} cases of {commit}: {f'{len(lines)} tables differ' if lines else 'all the same'}")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
