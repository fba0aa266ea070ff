"""The study that ``twolevel grid`` stands for, as a study's file says it."""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from als.lengths import takes_variation
from als.options import VARIATION
from als.techniques import spelled, split_techniques
from bls.policies import split_names
from bridge.options.declared import VARIATIONS
from bridge.scenarios.scenario import RECORDED, Scenario
from bridge.studies.replicates import REPLICATION, given_replicates
from bridge.studies.study import seeds_of
from traces.base.errors import InputError, parse_real, parse_whole, shown
from traces.base.options import places


def grid_text(
    workload: str,
    bls: str,
    als: str,
    variation: str | None,
    seeds: str | None,
    shared: Mapping[str, Any],
    replicate: str | None = None,
    warmup: str | None = None,
    shake: str | None = None,
) -> str:
    """The text of a study of one workload that keeps the jobs. Lists are separated by commas; ``shared["seed"]`` counts if
    ``seeds`` is None. Raises InputError if a list is empty, has a value twice, or has no number."""
    lists = {"bls": bls, "backfill": shared["backfill"], "als": als, "variation": variation}
    for name, text in lists.items():
        if text is not None and "" in map(str.strip, text.split(",")):
            raise InputError(f"--{name}: {shown(text)} has an empty item; allowed: one or more, separated by commas")
    techniques = [spelled(one) for one in split_techniques(als)]
    if variation is None:
        varied = shared["applications"] is not None or takes_variation(shared["lengths"] or "")
        variation = VARIATIONS.default if varied and set(techniques) != {RECORDED} else "0"
    try:
        variations = [parse_real(text) for text in _words(variation)]
    except ValueError:
        raise InputError(f"{VARIATION}: {shown(variation)}; allowed: numbers separated by commas") from None
    for value in variations:
        if not math.isfinite(value):
            raise InputError(f"{VARIATION}: {value}; allowed: {VARIATION.limits}")
    axes: dict[str, list[Any]] = {
        "bls": split_names(bls),
        "backfill": _words(shared["backfill"]),
        "als": techniques,
        "variation": variations,
    }
    for name, values in axes.items():
        if len(set(values)) < len(values):
            raise InputError(f"--{name}: {shown(','.join(map(str, values)))} has one twice")
    given_replicates(replicate, warmup, shake, "--{}".format)
    chosen: Sequence[int] = [shared["seed"]]
    if seeds is not None:
        word = seeds.strip()
        number = word.isascii() and word.isdecimal() and len(seeds) < 9
        chosen = seeds_of(parse_whole(word) if number else seeds, "--seeds")
    lines = [
        "[study]",
        *([f"seeds = {_toml(list(chosen))}"] if replicate is None or seeds is not None else []),
        *(f"{key} = {_toml(text)}" for key, text in zip(REPLICATION, (replicate, warmup, shake), strict=True) if text),
        'keep = ["jobs"]',
    ]
    tables: dict[str, dict[str, Any]] = {"workload": {"source": workload}}
    for place in places(Scenario):
        key, (part, *names) = place.option.key, place.path
        given = axes.get(key, shared.get(key))
        if names and given not in (None, (), place.default):
            tables.setdefault(part, {})[names[0]] = given
    for part, table in tables.items():
        lines += ["", f"[{part}]", *(f"{name} = {_toml(given)}" for name, given in table.items())]
    return "\n".join([*lines, ""])


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _toml(value: object) -> str:
    # JSON's texts, numbers, truths and lists of these are TOML's, too, but for DEL, which JSON leaves as it is.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
