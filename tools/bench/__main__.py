"""The benchmark: run the cases of ``tools/bench/cases.py``, print a table, and keep it in ``bench/bench.json``.

    python -m tools.bench                                  # every case of ``make bench``
    python -m tools.bench --case whole --case formats      # these groups
    python -m tools.bench --page                           # copy the last table to docs/reference/benchmarks.md
    TWOLEVEL_SHARED=/data python -m tools.bench

Real logs are read from ``traces/`` of the folder ``TWOLEVEL_SHARED`` (default: ``shared`` next to the project); a case whose
log is missing is not run. Every case checks its result. The exit code is 1 if a value misses its bound by more than half
(corrected by the slowness of the machine), or if a case fails. The page explains the columns.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import time
import traceback
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from bridge.runs.library_versions import versions
from tools.bench.cases import CASES, ON_DEMAND
from tools.bench.rows import HEAD, ROOT, Missing, Row, Slowness, line, measured, timed
from traces.base.process import processor_model

PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
_SECTION = re.compile(r"(?<=<!-- measured -->\n).*(?=<!-- end -->)", re.DOTALL)


def on_page(text: str, record: dict[str, Any]) -> str:
    """Return the text of the page with this table, its date and its machine in place of the last one."""
    where = "Measured {date}, {processors} × {processor}, Python {python}.".format(**record)
    found = f"\n{where}\n\n{HEAD}{''.join(line(Row(**row)) for row in record['rows'])}\n"
    return _SECTION.sub(lambda _: found, text)


def _group(name: str, failed: list[str]) -> list[Row]:
    rows: list[Row] = []
    for case in (case for case in CASES if case.group == name):
        try:
            rows.append(measured(case))
        except Missing as error:
            print(f"not run: {case.title}: {error}")
        except Exception:  # continue with the other cases; the exit code is 1
            traceback.print_exc()
            failed.append(case.title)
    return rows


def main(arguments: list[str] | None = None) -> int:
    """Run the chosen cases, or all; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    groups = [name for name, _ in groupby(case.group for case in CASES)]
    parser.add_argument("--out", type=Path, default=ROOT / "bench", help="folder of bench.json (default: bench)")
    parser.add_argument("--case", action="append", choices=groups, help="run only this one; may be repeated")
    parser.add_argument("--page", action="store_true", help=f"put the table of --out on {PAGE.name}, and run nothing")
    chosen = parser.parse_args(arguments)
    kept = chosen.out / "bench.json"
    if chosen.page:
        record = json.loads(kept.read_text(encoding="utf-8"))
        PAGE.write_text(on_page(PAGE.read_text(encoding="utf-8"), record), encoding="utf-8")
        return 0
    rows: list[Row] = []
    failed: list[str] = []
    seconds: dict[str, float] = {}
    print(HEAD, end="")
    for name in chosen.case or [name for name in groups if name not in ON_DEMAND]:
        with Slowness(name) as slowness:
            seconds[name], found = timed(lambda: _group(name, failed))  # noqa: B023
        for row in found:
            row.slowness = slowness.value
            print(line(row), end="", flush=True)
        rows += found
    record = {"date": time.strftime("%Y-%m-%d"), "processor": processor_model(), "versions": versions()}
    record |= {"processors": len(os.sched_getaffinity(0)), "python": versions()["python"], "seconds": seconds}
    chosen.out.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**record, "rows": [asdict(row) for row in rows]}, indent=2, ensure_ascii=False)
    kept.write_text(text + "\n", encoding="utf-8")
    print(f"\n{sum(seconds.values()):.0f} s: " + ", ".join(f"{name} {took:.0f}" for name, took in seconds.items()))
    print(f"written: {kept}; to put the table on the page: python -m tools.bench --page")
    missed = [row.case for row in rows if row.far_off]
    for what, titles in (("missed by more than half", missed), ("failed", failed)):
        if titles:
            print(f"{what}: {'; '.join(titles)}", file=sys.stderr)
    return 1 if missed or failed else 0


if __name__ == "__main__":
    sys.exit(main())
