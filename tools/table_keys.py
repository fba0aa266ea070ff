"""The tables of the section on tables of docs/reference/inputs.md, made from the declarations of maps of columns.

``python -m tools.table_keys`` writes them.
"""

from __future__ import annotations

import re

from bls.workloads.readers.tables import column_map as cm
from bls.workloads.readers.tables.named import map_names, named_map
from tools.site.pages import DOCS

PAGE = DOCS / "reference" / "inputs.md"


def _words(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _kinds(key: cm.MapKey) -> str:
    return (
        "all" if not key.kinds or set(key.kinds) >= {one.kind for one in cm.TARGETS.values()} else ", ".join(key.kinds)
    )


def _allowed(key: cm.MapKey) -> str:
    if len(set(key.kinds.values())) == 1:
        return _words(next(iter(key.kinds.values())))
    return "; ".join(f"{kind}: {_words(words)}" for kind, words in key.kinds.items() if words)


def tables() -> dict[str, list[str]]:
    """The rows of each table, by its head."""
    return {
        "| property | kind | meaning |": [
            f"| `{name}` | {one.kind} | {one.meaning} |" for name, one in cm.TARGETS.items()
        ],
        "| key of a column | for | values, the default first | meaning |": [
            f"| `{name}` | {_kinds(key)} | {_allowed(key)} | {key.meaning} |"
            for name, key in {**cm.KEYS, "kind": cm.KIND}.items()
        ],
        "| key of the map | meaning |": [f"| `{name}` | {key.meaning} |" for name, key in cm.MAP_KEYS.items()],
        "| map | log | columns described in |": [
            f"| `{name}` | {one.title} | {_link(one.origin)} |" for name in map_names() for one in [named_map(name)]
        ],
    }


def _link(origin: str) -> str:
    address = origin.removeprefix("https://")
    return f"[{address.split('/')[0]}](https://{address})" if address != origin else "[workloads](workloads.md#tables)"


def with_tables() -> str:
    """The page, with the tables of the declarations."""
    text = PAGE.read_text(encoding="utf-8")
    for head, rows in tables().items():
        written = "".join(f"{row}\n" for row in rows).replace("|  |", "| |")
        text, n = re.subn(rf"(?<=\n)({re.escape(head)}\n\|[-|]+\n)(?:\|.*\n)*", lambda match: match[1] + written, text)  # noqa: B023
        assert n == 1, head
    return text


if __name__ == "__main__":
    PAGE.write_text(with_tables(), encoding="utf-8")
