"""The pipe between a job's SimGrid process and the adapter: JSON, a line each, in turns: who asks waits for the answer."""

from __future__ import annotations

import json
import sys
from typing import Any


def hear() -> Any:
    """The next line from the adapter; the process ends quietly where there is none, as the adapter is gone."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def put(*said: Any) -> None:
    """Say something that needs no answer."""
    sys.stdout.write(json.dumps(said, separators=(",", ":")))
    sys.stdout.write("\n")
    sys.stdout.flush()


def say(*said: Any) -> Any:
    """Say something, and hear the answer."""
    put(*said)
    return hear()
