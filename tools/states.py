"""The site's page of the engines' states, and tables of the page of results, made from declarations.

``python -m tools.states`` writes the tables; with ``--page`` it prints the page.

A field's meaning is the comment on its line, or else the comment above it or above the fields before it. A comment with a colon
is a heading.
"""

from __future__ import annotations

import inspect
import re
import sys
from itertools import groupby

from als.engine.state import ApplicationState
from bls.engine.state import BatchState
from bridge.couplings.inline_state import InlineState
from tools.site.pages import DOCS
from traces.kernels.state import Field, State, fields_of
from traces.ledger import JobRecords, NodeRecords, PassRecords, PowerRecords, TaskRecords, TransferRecords
from traces.records import EVENTS

#: Pages, and the kinds of records whose tables they have.
TABLES = {
    "results.md": (JobRecords, TaskRecords, TransferRecords, *EVENTS, NodeRecords, PassRecords),
    "power.md": (PowerRecords,),
}
_HEAD = """# Columns of the engines' states

Type, dimensions, initial value and meaning of every column of an engine.

[Kernels](../../explanation/kernels.md#a-state) explains states. A column with dimensions in parentheses belongs to its state;
its dimension is that of the class (after its module) if none is shown. Values are int64 if no type is shown, and begin with 0
if no first value is shown. The caller makes the other columns (1-d, 2-d).
"""
_FIELD = re.compile(r"^((?: +# .*\n)*)(?:    (\w+)(?:: [\w.]+)?(?: = (.*?))?(?:  # (.*))?)?$", re.MULTILINE)


def rows(declared: type[object]) -> list[tuple[str, str, str, str]]:
    """Return the heading, name, first value and meaning of each field of a state, or of each code."""
    found, heading, above = [], "", ""
    for comment, name, value, own in _FIELD.findall(inspect.getsource(declared)):
        above = re.sub(r"\s+# ", " ", comment).strip() if comment else above if name else ""
        if above.endswith(":") or not name:
            heading, above = above, ""
        meaning, above = own or above, "" if own else above
        first = re.sub(r"^column\((?:.*fill=([^,)]*))?.*", r"\1", value)
        meaning = re.sub("^[a-z](?!:)", lambda letter: letter[0].upper(), meaning)
        found.append((heading, name, re.sub(r"^[A-Za-z][\w.]*\.", "", first), meaning))
    return [row for row in found if row[1]]


def listed(root: type[State]) -> dict[str, type[State]]:
    """Return a class of states and all classes of states within it, by name."""
    parts = [listed(field.kind) for field in fields_of(root).values() if isinstance(field.kind, type)]
    return {root.__name__: root} | {name: one for part in parts for name, one in part.items()}


def _type(field: Field) -> str:
    links = [f"[{one.__name__}](#{one.__name__.lower()})" for one in (field.kind, field.codes) if isinstance(one, type)]
    dims = f"({', '.join(map(str, field.dims))})" if field.dims else f"{field.kind.ndim}-d" if field.dtype else ""
    return " ".join(filter(None, [f"{field.dtype or getattr(field.kind, 'name', '')}", dims, *links]))


def _item(kind: str, name: str, first: str, meaning: str) -> str:
    kind = kind.removeprefix("int64").strip()
    value = f" = {first}" if first and (first != "0" or name.isupper()) else ""
    return f"- `{name}`{' ' if kind else ''}{kind}{value}{': ' if meaning else ''}{meaning}"


def page() -> str:
    """Return the page."""
    states, lines = listed(BatchState) | listed(ApplicationState) | listed(InlineState), [_HEAD]
    codes = [field.codes for one in states.values() for field in fields_of(one).values() if field.codes]
    for name, declared in (states | {one.__name__: one for one in codes}).items():
        # The modules of contracts document their columns for plug-ins.
        about, is_contract = (declared.__doc__ or "").partition("Attributes\n")[0], "contract" in declared.__module__
        types = {one: _type(field) for one, field in fields_of(states[name]).items()} if name in states else {}
        dim = getattr(declared, "_dim", None)
        lines += [
            f"## {name}",
            "",
            f"{' '.join(about.split())} (`{declared.__module__}{f'`; {dim}' if dim else '`'})",
            "",
        ]
        types = {one: kind.replace(f"({dim})", "").strip() for one, kind in types.items()}
        for heading, found in groupby([] if is_contract else rows(declared), key=lambda row: row[0]):
            lines += [heading, ""] if heading else []
            lines += [*(_item(types.get(row[1], ""), *row[1:]) for row in found), ""]
    return re.sub(r":\w+:`", "`", "\n".join(lines).replace("``", "`"))


def with_tables(name: str) -> str:
    """Return a page with the tables of each kind of records, made from their declarations."""
    text = (DOCS / "reference" / name).read_text(encoding="utf-8")
    for kind in TABLES[name]:
        columns = kind.table_columns()
        said = [f"| `{name}` | {one.stored} | {one.unit} | {one.meaning} |\n" for name, one in columns.items()]
        # Further columns, without a declaration here, follow.
        parts = re.split(
            rf"(?<=\n)((?:## |`){kind.name}\.parquet.*\n(?:(?!\|).*\n)+\|.*\n\|.*\n)((?:\|.*\n)+)", text, maxsplit=1
        )
        rest = [row for row in parts[2].splitlines(keepends=True) if row.split("`")[1] not in columns]
        text = "".join([*parts[:2], *(row.replace("|  |", "| |") for row in said), *rest, parts[3]])
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["--page"]:
        print(page())
    else:
        for name in TABLES:
            (DOCS / "reference" / name).write_text(with_tables(name), encoding="utf-8")
