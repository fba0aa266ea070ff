"""Conflicts of power limits to parts of the machine."""

from typing import Any, Final

from bls.engine.features.limits.options import FALLBACK, LIMITS, NO_FALLBACK, STOPPING, UNSTOPPED, fallback_text
from bls.engine.features.widths.options import RESIZES
from traces.base.options import Conflict, has

_EXAMPLE: Final = [(0, None, 500, "hosts:0")]


def _text(plan: Any) -> str:
    return f"limits to parts of the machine ({plan.parts[0].name})"


RUN: Final[tuple[Conflict, ...]] = (
    Conflict(has(
        f"{LIMITS} to parts of the machine, with a {FALLBACK}", lambda run: run.limits and run.limits.parts,
        lambda run: f"{fallback_text(run)} with {_text(run.limits)}", limits=_EXAMPLE, fallback="hold",
    ), RESIZES, "as widths depend on the limit of the whole machine only", NO_FALLBACK),
)

PLAN: Final[tuple[Conflict, ...]] = (
    Conflict(
        STOPPING, has(f"{LIMITS} to parts of the machine", lambda plan: plan.parts, _text, limits=_EXAMPLE),
        "as hosts are stopped according to the power of the whole machine", UNSTOPPED),
)
