"""How the tests are run: what hypothesis may do, and where the real logs and the answers of other tools are.

``TWOLEVEL_SHARED`` names a folder with ``traces/`` (logs of the Parallel Workloads Archive) and ``oracles/`` (what other
tools computed); without it, a folder ``shared`` beside the checkout is looked for. Where there is none, the
tests in ``tests/real`` do not exist.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

SHARED = Path(os.environ.get("TWOLEVEL_SHARED") or Path(__file__).resolve().parents[2] / "shared")

collect_ignore = [] if SHARED.is_dir() else ["real"]

# The same examples in every run; how long one takes is the machine's business. A test may say how many it wants.
settings.register_profile(
    "twolevel",
    derandomize=True,
    deadline=None,
    max_examples=100,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("twolevel")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real logs and of other tools' answers."""
    return SHARED
