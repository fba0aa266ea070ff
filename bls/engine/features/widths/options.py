"""The options of jobs whose width may change, and what changes of width conflict with."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bls.engine.codes import Resize
from bls.engine.features.core_choices import NO_HEAD, REPEATS, allocator_text, headless, policy_name
from bls.engine.features.other_events.options import RESERVES
from bls.engine.features.outages.options import DRAINS, UNDRAINED
from bls.engine.features.prediction.options import PROMISED
from bls.engine.features.releases.options import COORDINATION, coordination_text
from bls.engine.features.switches.options import SWITCHES
from bls.options import ALLOCATOR, BLS, REQUESTS
from traces.base.errors import InputError, parse_real, shown
from traces.base.options import Choice, ChosenFeature, Conflict, Option, Panel, has, holds, needs, said

_LEAST, _MOST = 0.25, 2.0  #: default smallest and largest factor of the requested cores for malleable jobs of a share
_HIGHEST = 1e6  #: a factor larger than that of any machine


def share_of(text: object) -> tuple[float, float, float] | None:
    """``0.5`` or ``0.5:0.25:2`` as a share of the jobs, and the smallest and largest factor of their requested cores; None for
    another form, which is a file or its name. Raises InputError if its numbers are out of range."""
    try:
        numbers = [parse_real(part) for part in text.split(":")] if isinstance(text, str) else []
    except ValueError:
        return None
    if not 0 < len(numbers) <= 3:
        return None
    share, least, most = (*numbers, *(_LEAST, _MOST)[len(numbers) - 1 :])
    if not (0 < share <= 1 and 0 < least <= 1 <= most <= _HIGHEST):
        raise InputError(
            f"{MALLEABLE}: {shown(text)}; allowed: SHARE above 0 up to 1, or SHARE:MIN:MAX with MIN above 0 up to 1 and "
            f"MAX from 1 to {_HIGHEST:g} times the cores that a job requests, as 0.5:0.25:2; or a CSV file"
        )
    return share, least, most


def _checked(given: object) -> object:
    share_of(given)
    return given


MALLEABLE = Option[str | None](
    name="malleable", panel=Panel.CONSTRAINTS, default=None, metavar="WHICH", checked=_checked,
    help="Jobs whose width may change: SHARE[:MIN[:MAX]], e.g. 0.5:0.25:2 for half of the jobs, from 0.25 to 2 times their "
    "requested cores; or a CSV file")
RESIZED = "expand+shrink"  #: when running malleable jobs are given cores, or must return some, by default
RESIZE = Choice(
    name="resize", panel=Panel.CONSTRAINTS, default="none", what="change of widths",
    choices=("none", "mold", "expand", "shrink", RESIZED, "equal", "evolve", "decide"), metavar="WHEN",
    help="When the width of malleable jobs changes: none; mold (at the start); expand (when the queue is empty), shrink "
    f"(when its head lacks cores), {RESIZED}; equal (shares of equal size); evolve (on request of the application); decide "
    "(by a batch policy in Python, or a scheduler)",
    rule=f"none, or {RESIZED} with {MALLEABLE}")

#: The values of ``Settings.resizing``, in their order.
_RESIZING: Final = tuple(way for way in RESIZE.choices if way != "mold")


@dataclass(frozen=True, kw_only=True)
class ResizeRules:
    """When the widths of jobs change."""

    resize: str | None = holds(RESIZE, None, recorded="resized")

    @property
    def resized(self) -> str:
        """When the widths of jobs change; by default ``expand+shrink`` if jobs are malleable, and otherwise never."""
        malleable = getattr(self, "malleable", None)  # of ``Batch``
        return self.resize or (RESIZE.default if malleable is None else RESIZED)

    @property
    def resizing(self) -> int:
        """When the widths of running jobs change, a value of ``Settings.resizing``."""
        return int(Resize.NO_RESIZE) if self.molds else _RESIZING.index(self.resized)

    @property
    def molds(self) -> bool:
        """Whether the head of the queue may start with another width than it requests."""
        return self.resized == "mold"


ALL_MALLEABLE: Final[Mapping[str, Any]] = {"malleable": "1"}
resize_text: Final = said(RESIZE, lambda one: one.rules.resized)
CHANGES: Final = has(
    f"a {RESIZE} that changes the width of running jobs", lambda one: one.rules.resizing, resize_text, **ALL_MALLEABLE,
    resize="shrink")
MOLDS: Final = has(f"{RESIZE:mold}", lambda one: one.rules.molds, resize_text, **ALL_MALLEABLE, resize="mold")
RESIZES: Final = has(
    f"{RESIZE} except none", lambda one: one.rules.resizing or one.rules.molds, resize_text, **ALL_MALLEABLE, resize="expand")
_EXPANDS: Final = has(
    f"{RESIZE} except none and decide", lambda one: one.rules.resized not in ("none", "decide"), resize_text, **ALL_MALLEABLE,
    resize="shrink")
_COUNTED: Final = "as widths at the start are chosen by numbers of free cores"

POLICY: Final[tuple[Conflict, ...]] = (
    Conflict(CHANGES, has(
        f"{COORDINATION:release:host} or hint:host", lambda one: one.rules.by_hosts, coordination_text,
        coordination="release:host",
    ), "as widths change core by core", "none, release, release:core, hint, hint:core"),
    Conflict(CHANGES, PROMISED, "as a change of width invalidates what the job has promised", "other estimates"),
    Conflict(
        has(f"{RESIZE:decide}", lambda one: one.rules.resized == "decide", resize_text, **ALL_MALLEABLE, resize="decide"),
        has(f"a {BLS} that directs no widths", lambda one: "widths" not in one.may_direct, policy_name),
        reason="{second} does not set the widths of jobs",
        allowed="a policy in Python whose directs has 'widths', or a scheduler whose hello's directs has it"),
    Conflict(_EXPANDS, headless("widths", ""), reason=NO_HEAD, allowed="none"),
    Conflict(_EXPANDS, has(
        f"a {BLS} that directs widths", lambda one: one.decides and "widths" in one.may_direct, policy_name,
        bls="WIDTHS",
    ), reason=NO_HEAD, allowed="decide, none"),
)


def _no_widths(other: ChosenFeature, why: str) -> Conflict:
    # Running jobs get and lose single cores with their resources; jobs that are molded have further conflicts.
    return Conflict(RESIZES, other, why, "none")


RUN: Final[tuple[Conflict, ...]] = (
    needs(
        RESIZES, MALLEABLE, lambda run: run.constraints.widths is None, ", the jobs whose width may change",
        example={"malleable": None}),
    _no_widths(
        has("recorded run times", lambda run: run.recorded, als="recorded"),
        "as a recorded run time does not depend on the width"),
    _no_widths(
        has(f"{ALLOCATOR} of whole hosts", lambda run: run.allocator.whole_hosts, allocator_text, allocator="whole-host"),
        "as a job has more cores of a host than it computes on"),
    _no_widths(
        has(f"{ALLOCATOR:given}", lambda run: run.allocator.name == "given", allocator="given", requested={1: "0-1"}),
        "as jobs request cores by number"),
    _no_widths(has(
        f"{REQUESTS} of units of several cores", lambda run: run.asks("unit_cores", 1),
        "jobs of units of several cores", requests="units.csv",
    ), "as a core could be released without the others of its unit"),
    _no_widths(has(
        f"{SWITCHES}, or {REQUESTS} of few switches", lambda run: run.asks("switches"),
        "jobs that request few switches", switches="1", allocator="topology",
    ), "as the number of switches for other widths is not specified"),
    Conflict(MOLDS, has(
        f"{REQUESTS} of more than cores",
        lambda run: run.constraints.requests is not None and not run.constraints.requests.plain,
        "jobs that request more than cores", requests="licences.csv",
    ), _COUNTED, "none"),
    Conflict(MOLDS, RESERVES, _COUNTED, "none"),
    Conflict(MOLDS, has(
        f"{ALLOCATOR} or partitions to which cores are not all alike", lambda run: not run.countable,
        lambda run: f"{allocator_text(run)} and these partitions", allocator="contiguous",
    ), _COUNTED, "none"),
    Conflict(DRAINS, CHANGES, reason=UNDRAINED, allowed="state down"),
)

FAIR_START: Final = (
    Conflict(
        REPEATS, RESIZES, reason="with {second} the widths of jobs at other instants are unknown", allowed=f"{RESIZE:none}"),
)
