"""What one run of the matrix is: a name, the kind of run, and what is given to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: The file of the matrix's own plug-ins, as options name it before ``:NAME``.
PLUGINS = str(Path(__file__).with_name("plugins.py"))


@dataclass(frozen=True)
class Case:
    """One run.

    Attributes
    ----------
    name : str
        Says what is in it; no two cases have the same.
    kind : str
        A key of ``tools.digest_runs.RUNS``.
    given : mapping
        What that takes.
    """

    name: str
    kind: str
    given: Mapping[str, Any]


def paper_draw(lengths: str) -> str:
    """A distribution, as ``--lengths`` takes it, with the two-level paper's draw."""
    spec = lengths or "normal"
    return f"{spec}{',' if '=' in spec or spec.startswith('file:') else ':'}draw=paper"


def run_of_paper(name: str, /, **given: Any) -> Case:
    """As :func:`run`; its tasks are drawn as the two-level paper draws them."""
    if given.get("als", "recorded") != "recorded":
        level = given.get("level", {})
        given["level"] = {**level, "lengths": paper_draw(level.get("lengths", ""))}
    return run(name, **given)


def run(name: str, /, **given: Any) -> Case:
    """A run of both levels: what ``bridge.simulate`` takes, ``rules``, ``constraints`` and ``level`` as mappings, ``workload``
    by its name in ``tools.digest_cases.workloads``; ``als`` is ``recorded`` where nothing else is said."""
    return Case(name.replace(f"{PLUGINS}:", "plugins.py:"), "run", {"als": "recorded", **given})
