"""Check that the matrix of ``tools.digests`` has a case with every entry of every registry."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from tools.digest_cases import Case, files

# A key and a text, in the files that cases name.
_SAID = re.compile(r'(\w+) = "([^"]+)"')
_NAME = re.compile(r"[^:]+\.(toml|csv|swf|json|sacct|gwf|dax|rec|dot|graphml|txt)")

#: The place of each registry, and the keys with which a case names its entries.
_REGISTRIES: dict[str, tuple[str, ...]] = {
    "bls.policies:POLICIES": ("bls",),
    "bls.policies:WRITTEN": ("bls",),
    "bls.allocators:ALLOCATORS": ("allocator",),
    "bls.estimates:ESTIMATORS": ("estimates",),
    "bls.scheduler_options:BACKFILL": ("backfill",),
    "bls.engine.features.outages.options:ON_FAILURE": ("on_failure",),
    "bls.workloads:READERS": ("read",),
    "bls.options:METHOD": ("method",),
    "als.techniques:TECHNIQUES": ("als",),
    "als.planners:PLANNERS": ("als",),
    "als.lengths:LENGTHS": ("lengths",),
    "als.core_speeds:SPEED_KINDS": ("speeds",),
    "als.graphs:GENERATORS": ("graph",),
    "als.graphs.readers:READERS": ("graph",),
    "als.network:MODELS": ("network",),
    "als.network.topologies:TOPOLOGIES": ("topology",),
    "als.options:ORDER": ("order",),
    "als.options:ASSIGNMENT": ("assignment",),
    "bridge.couplings:COUPLINGS": ("coupling",),
    "traces.exporters:EXPORTERS": ("exports",),
}

#: Names of readers' files in the matrix that differ from the reader's name.
_READERS = {"json": ("batsim", "wfformat"), "csv": ("table",), "rec": ("starpu",)}

#: Default values.
_DEFAULTS = {("assignment", "distributed")}


def used(cases: Sequence[Case]) -> set[tuple[str, str]]:
    """Every (key, plain name) in the cases and in the files that they name."""
    found = set(_DEFAULTS)
    for case in cases:
        for key, text in _texts(case.given):
            found.add((key, text))
            found.add((key, text.partition(":")[0]))
            if match := _NAME.fullmatch(text):
                found |= {(key, name) for name in (match[1], *_READERS.get(match[1], ()))}
    return found


def _texts(given: Any, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield from _texts(value, str(name))
    elif isinstance(given, list | tuple):
        for value in given:
            yield from _texts(value, key)
    elif isinstance(given, str):
        yield key, given
        for said in _SAID.findall(files().get(given, "")):
            yield said[0], said[1]


def uncovered(cases: Sequence[Case]) -> list[str]:
    """Entries of registries without a case, such as ``bls.policies:POLICIES fcfs``."""
    found = used(cases)
    missing = []
    for place, keys in _REGISTRIES.items():
        module, _, name = place.partition(":")
        found_there = getattr(import_module(module), name)
        entries = getattr(found_there, "choices", found_there)  # an option's names
        missing += [f"{place} {entry}" for entry in entries if not any((key, entry) in found for key in keys)]
    return missing
