"""One run of the matrix: its name, its kind, and its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The file of the matrix's plug-ins, as FILE of ``FILE:NAME`` in options.
PLUGINS = str(Path(__file__).with_name("plugins.py"))


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes
    ----------
    name : str
        Describes its contents; all names differ.
    kind : str
        A key of ``tools.digest_runs.RUNS``.
    given : mapping
        The arguments of that function.
    """

    name: str
    kind: str
    given: Mapping[str, Any]


def paper_draw(lengths: str) -> str:
    """A distribution, as for ``--lengths``, with the two-level paper's draw."""
    spec = lengths or "normal"
    return f"{spec}{',' if '=' in spec or spec.startswith('file:') else ':'}draw=paper"


def run_of_paper(name: str, /, **given: Any) -> Case:
    """:func:`run` with task lengths drawn as in the two-level paper."""
    if given.get("als", "recorded") != "recorded":
        level = given.get("level", {})
        given["level"] = {**level, "lengths": paper_draw(level.get("lengths", ""))}
    return run(name, **given)


def run(name: str, /, **given: Any) -> Case:
    """A run of both levels: arguments of ``bridge.simulate``, with ``rules``, ``constraints`` and ``level`` as mappings and
    ``workload`` by its name in ``tools.digest_cases.workloads``; ``als`` is ``recorded`` by default."""
    return Case(name.replace(f"{PLUGINS}:", "plugins.py:"), "run", {"als": "recorded", **given})
