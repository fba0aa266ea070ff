"""Cases with several features, drawn by seed: combinations that are seldom tried."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from tools.digest_cases.applications import LENGTHS, SPEEDS, TECHNIQUES
from tools.digest_cases.batch import BACKFILLING, POLICIES
from tools.digest_cases.case import PLUGINS, Case, run_of_paper

_PAIRS = 90

_ESTIMATES = ("exact", "within:50%", "last-two", "profile", f"{PLUGINS}:LAST_THREE")
_FAILURES = ("failures.csv", "mtbf:3h,mttr:20m", "mtbf:4h,mttr:4m,seed:5")
_ALLOCATORS = ("first-fit", "best-fit", "worst-fit", "contiguous", "random", "whole-host")
_PLAIN = tuple(technique for technique in TECHNIQUES if not technique.startswith("select"))


def _batch(draw: random.Random) -> tuple[list[str], dict[str, Any]]:
    # One choice for everything at the batch level, without features that exclude each other.
    backfilling = draw.choice(tuple(BACKFILLING))
    policy = draw.choice(POLICIES)
    words = [policy, backfilling]
    rules: dict[str, Any] = dict(BACKFILLING[backfilling])
    constraints: dict[str, Any] = {}
    platform = draw.choice(("plain.toml", "mixed.toml", "parts.toml", "mixed-parts.toml", "switched-parts.toml"))
    given: dict[str, Any] = {"workload": draw.choice(("busy", "withdrawn", "crowded")), "platform": platform}
    given |= {"bls": policy, "rules": rules, "constraints": constraints, "seed": draw.randrange(100)}
    if draw.random() < 0.5:
        constraints["failures"] = draw.choice(_FAILURES)
        rules["on_failure"] = draw.choice(("requeue", "lose"))
        words.append(f"{rules['on_failure']} failures")
    if draw.random() < 0.4:
        rules["estimates"] = draw.choice(_ESTIMATES)
        words.append(f"estimates {rules['estimates']}")
    if draw.random() < 0.4:
        constraints["dependencies"] = True
        words.append("dependencies")
    if draw.random() < 0.4:
        rules["kill_at_walltime"] = True
        words.append("killed")
    if draw.random() < 0.2:
        rules |= {"decision_cost_ns": draw.choice((0, 10**6, 3 * 10**9))}
        words.append("cost")
    if platform.startswith("mixed") and given["workload"] == "busy" and draw.random() < 0.7:
        constraints["requests"] = "requests.csv"
        words.append("requests")
    if platform == "plain.toml" and given["workload"] == "busy" and draw.random() < 0.5:
        constraints["windows"] = "windows.toml"
        words.append("windows")
    if platform.startswith("switched"):
        given["allocator"] = "topology"
        constraints["switches"] = draw.choice(("1", "2@5m"))
        words.append("switches")
    elif draw.random() < 0.5:
        given["allocator"] = draw.choice(_ALLOCATORS)
        words.append(given["allocator"])
    return words, given


def _application(draw: random.Random) -> tuple[list[str], dict[str, Any]]:
    technique = draw.choice(_PLAIN)
    words, level = [technique], dict[str, Any]()
    given: dict[str, Any] = {"als": technique, "level": level, "tasks_per_core": draw.choice((1, 2, 4))}
    kind = draw.choice(("loops", "loops", "programs", "graphs"))
    if kind == "loops":
        level["lengths"] = draw.choice(LENGTHS)
        words.append(level["lengths"])
    else:
        level["applications"] = f"{kind}.toml"
        given["variation"] = draw.choice((0.0, 0.3))
        words.append(kind)
    if kind == "graphs":
        level["network"] = draw.choice(("none", "hockney", "cm02", "lv08"))
        words.append(level["network"])
    if draw.random() < 0.5:
        name = draw.choice(tuple(SPEEDS))
        level["speeds"] = SPEEDS[name]
        words.append(f"speeds {name}")
    if draw.random() < 0.4:
        given["overhead_ns"] = draw.choice((10**6, 10**8))
        level |= {"latency_ns": draw.choice((0, 10**6)), "assignment": draw.choice(("distributed", "master"))}
        words.append(str(level["assignment"]))
    return words, given


def pair_cases() -> Iterator[Case]:
    """All cases of this module; a third of them have the batch level alone."""
    for number in range(_PAIRS):
        draw = random.Random(f"pair {number}")
        words, given = _batch(draw)
        if number % 3:
            more, level = _application(draw)
            words, given = [*words, *more], {**given, **level}
            if "network" in level["level"] and "failures" in given["constraints"]:
                given["constraints"]["failures"] = "failures.csv"  # a host always fails before the end of a long graph
            given["select"] = "first:45"
        title = " × ".join(words).replace(f"{PLUGINS}:", "plugins.py:")
        yield run_of_paper(f"pair {number}: {title}", **given)
