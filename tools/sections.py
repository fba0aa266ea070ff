"""Write the tables of pages that show data of finished studies.

    python -m tools.sections [PAGE …]              # rewrite the tables of these pages, or of all
    python -m tools.sections --check               # exit 1 if a table differs from its data
    python -m tools.sections --keep DIR NAME       # copy the comparisons of a study in DIR to docs/data/NAME.csv

A page has such a table between ``<!-- generated: NAME -->`` and ``<!-- end of NAME -->``. ``sections.toml`` declares them:

- ``data``: a file of ``docs/data``; ``where``: the values of columns that select its rows;
- ``rows``: the head and the format of each leading column;
- ``columns``: the column whose values make the other columns, with ``head``, the format of heads, or ``names``, each head;
- ``merge``: a column whose values are joined where all their cells are equal;
- ``cell``: the shown column, with the interval ``cell_low`` to ``cell_high`` and ``digits`` decimals; by default the digits
  follow from the interval.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from traces.base.errors import InputError, TwolevelError
from traces.metric_units import interval_text

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "docs" / "data"
DECLARED = Path(__file__).with_suffix(".toml")

#: Columns of ``comparisons.parquet`` that ``--keep`` copies if a study has them.
_KEPT = (
    "workload",
    "bls",
    "backfill",
    "als",
    "variation",
    "option",
    "base",
    "value",
    "metric",
    *(f"ratio{end}" for end in ("", "_low", "_high")),
)


def read(name: str) -> pd.DataFrame:
    """The rows of a file of ``docs/data``; a column has numbers or texts."""
    return pd.read_csv(DATA / f"{name}.csv", keep_default_na=False, na_values=[""], dtype={"value": str, "base": str})


def _text(row: Mapping[str, Any], name: str, digits: int | None) -> str:
    mean, low, high = (float(row.get(column, "nan")) for column in (name, f"{name}_low", f"{name}_high"))
    if mean != mean:
        return "–"
    if digits is None:
        return interval_text(mean, low, high)
    first, *ends = (f"{round(one, digits) + 0.0:,.{digits}f}".replace("-", "−") for one in (mean, low, high))
    return f"{first} [{', '.join(ends)}]" if low == low else first


def _merged(found: pd.DataFrame, column: str) -> pd.DataFrame:
    # Rows that differ only in this column become one row.
    kinds: dict[str, list[str]] = {}
    for value, rows in found.groupby(column, sort=False):
        kinds.setdefault(rows.drop(columns=column).to_csv(index=False), []).append(str(value))
    names = {of[0]: ", ".join(of) for of in kinds.values()}
    return found[found[column].isin(names)].assign(**{column: found[column].map(names)})


def table(declared: Mapping[str, Any]) -> list[str]:
    """The lines of a table.

    Parameters
    ----------
    declared : mapping
        The declaration, as described above.

    Raises
    ------
    InputError
        If the data lack a cell, or have it twice.
    """
    found = read(declared["data"])
    for column, value in declared.get("where", {}).items():
        found = found[found[column].isin(value if isinstance(value, list) else [value])]
    if declared.get("merge"):
        found = _merged(found, declared["merge"])
    names, digits = declared.get("names", {}), declared.get("digits")
    cells: dict[tuple[str, ...], dict[str, str]] = {}
    for row in found.to_dict("records"):
        value = row[declared["columns"]]
        if names and value not in names:
            continue
        head = names.get(value) or declared.get("head", "{}").format(value)
        of = cells.setdefault(tuple(text.format(**row) for text in declared["rows"].values()), {})
        if head in of:
            raise InputError(f"{declared['data']}: two rows for {head} of {row}; allowed: one")
        of[head] = _text(row, declared["cell"], digits.get(value) if isinstance(digits, dict) else digits)
    heads = list(names.values()) or list(dict.fromkeys(head for of in cells.values() for head in of))
    lines = [f"| {' | '.join([*declared['rows'], *heads])} |", "|---" * (len(declared["rows"]) + len(heads)) + "|"]
    for key, of in cells.items():
        if set(of) != set(heads):
            raise InputError(f"{declared['data']}: {', '.join(key)}: has {', '.join(of)}; needed: {', '.join(heads)}")
        lines.append(f"| {' | '.join([*key, *(of[head] for head in heads)])} |")
    return lines


def updated(page: str, sections: Mapping[str, Mapping[str, Any]]) -> str:
    """The text of a page with its declared tables written again.

    Raises
    ------
    InputError
        If the page lacks the marks of a table.
    """
    for name, declared in sections.items():
        begin, end = f"<!-- generated: {name} -->\n", f"<!-- end of {name} -->"
        before, found, rest = page.partition(begin)
        _, ended, after = rest.partition(end)
        if not (found and ended):
            raise InputError(f"the page has no section {name}; needed: lines {begin.strip()} and {end}")
        page = "".join([before, begin, *(f"{line}\n" for line in table(declared)), end, after])
    return page


def _sections(page: dict[str, Any]) -> dict[str, dict[str, Any]]:
    shared = {key: value for key, value in page.items() if key != "sections"}
    return {name: {**shared, **declared} for name, declared in page["sections"].items()}


def keep(folder: Path, name: str) -> None:
    """Copy the comparisons of a study to ``docs/data``."""
    found = pd.read_parquet(folder / "comparisons.parquet")
    found = found[[column for column in _KEPT if column in found]]
    found.to_csv(DATA / f"{name}.csv", index=False, float_format="%.10g", lineterminator="\n")


def main(words: list[str] | None = None) -> int:
    """Write or check the tables; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="*", metavar="PAGE", help="path of a page, as tools/sections.toml has it")
    parser.add_argument("--check", action="store_true", help="write nothing")
    parser.add_argument("--keep", nargs=2, metavar=("DIR", "NAME"), help="copy the comparisons of a study")
    given = parser.parse_args(words)
    declared = {name: _sections(of) for name, of in tomllib.loads(DECLARED.read_text(encoding="utf-8")).items()}
    try:
        if given.keep:
            keep(Path(given.keep[0]), given.keep[1])
        stale = []
        for name in given.pages or declared:
            if name not in declared:
                raise InputError(f"{name}: no page with declared sections; allowed: {', '.join(declared)}")
            page = ROOT / name
            text = page.read_text(encoding="utf-8")
            new = updated(text, declared[name])
            if new != text:
                stale.append(name)
                if not given.check:
                    page.write_text(new, encoding="utf-8")
    except (TwolevelError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    sys.stdout.write("".join(f"{name}: {'stale' if given.check else 'written'}\n" for name in stale))
    return int(given.check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
