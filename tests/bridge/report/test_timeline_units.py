"""Times as a timeline writes them, by the script itself outside a browser, against Python's own integers and dates."""

import json
import random
import re
import subprocess
import sys
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tools.build_page import SOURCE

pytestmark = pytest.mark.whole

_UNITS = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9, "d": 86400 * 10**9}


def asked(expression: str) -> Any:
    module = (SOURCE / "src" / "timeline" / "units.ts").as_uri()
    script = f"import * as units from {json.dumps(module)}; console.log(JSON.stringify({expression}))"
    node = Path(sys.prefix) / "bin" / "node"
    command = [node, "--experimental-strip-types", "--no-warnings", "--input-type=module", "--eval", script]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def read(text: str) -> int:
    """ns of a duration as the page writes it."""
    total = 0
    for number, unit in re.findall(r"([\d.]+) (\S+)", text):
        whole, _, part = number.partition(".")
        size = _UNITS[unit]
        total += int(whole) * size + (int(part.ljust(9, "0")) * size // 10**9 if part else 0)
    return total


def test_durations_are_exact() -> None:
    numbers = [0, 1, 999, 10**9, 60 * 10**9, 86_400 * 10**9, 2**62 + 1]
    numbers += [random.Random(1).randrange(10 ** (1 + k % 18)) for k in range(60)]
    said = asked(f"[{','.join(f'{number}n' for number in numbers)}].map(units.exactly)")
    assert [read(text) for text in said] == numbers


def test_instants_are_exact_and_have_dates() -> None:
    assert asked("[units.instant(93784000000500n, null), units.instant(-1500000000n, null)]") == [
        "1 d 02:03:04.0000005",
        "−00:00:01.5",
    ]
    start = datetime(2004, 2, 28, 23, 0, tzinfo=UTC).timestamp()
    assert asked(f"units.instant(7200000000000n, {start})") == "2004-02-29 01:00:00 (02:00:00)"


def test_ticks_are_round_apart_and_all_different() -> None:
    first, steps = 123_456_789_012_345, [0.2, 3.0, 40.0, 700.0, 2e4, 3e6, 5e8, 2e9, 7e10, 4e11, 9e12, 3e14, 2e16]
    each = asked(
        f"[{','.join(f'units.ticksOf({first}, {first + 36 * step}, 987654321n, null, {step})' for step in steps)}]"
    )
    for step, found in zip(steps, each, strict=True):
        places = [tick["at"] for tick in found["ticks"]]
        labels = [tick["label"] for tick in found["ticks"]]
        assert places
        assert len(set(labels)) == len(labels), (step, labels)
        distances = [b - a for a, b in pairwise(places)]
        assert distances
        assert max(distances) - min(distances) <= 4e-16 * places[-1] + 1e-9  # what a float of that size tells apart
        assert min(distances) >= 0.999 * step
        assert bool(found["anchor"]) == labels[0].startswith("+")
