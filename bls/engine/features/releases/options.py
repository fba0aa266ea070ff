"""The option of the exchange between the levels about running jobs, by releases and hints; and its conflicts."""

from dataclasses import dataclass
from typing import Final

from bls.engine.codes import Release
from bls.engine.features.core_choices import NO_HEAD, REPEATS, headless, unaware
from bls.engine.features.outages.options import DRAINS, UNDRAINED
from bls.engine.features.prediction.options import PROMISED
from bls.options import ALLOCATOR, REQUESTS
from traces.base.options import Choice, Conflict, Panel, has, holds, said

COORDINATION = Choice(
    name="coordination", first=True, panel=Panel.BATCH, default="none", what="coordination of the levels", metavar="HOW",
    choices=("none", "release", "release:core", "release:host", "hint", "hint:core", "hint:host"),
    help="Information exchanged between the levels about running jobs: none; release or release:core (jobs return cores that "
    "they no longer need), release:host (only whole hosts); hint or hint:core (jobs also receive which of their cores the "
    "queue waits for), hint:host")


@dataclass(frozen=True, kw_only=True)
class CoordinationRules:
    """The exchange between the levels about running jobs."""

    coordination: str = holds(COORDINATION)

    @property
    def releases(self) -> int:
        """Unit in which running jobs release cores, a value of ``Settings.releases``."""
        unit = Release.BY_HOST if self.by_hosts else Release.BY_CORE
        return int(Release.NO_RELEASES if self.coordination == "none" else unit)

    @property
    def by_hosts(self) -> bool:
        """Whether running jobs release the cores of a host together."""
        return self.coordination.endswith(":host")

    @property
    def hints(self) -> bool:
        """Whether running jobs receive hints about cores for which others wait."""
        return self.coordination.startswith("hint")


coordination_text: Final = said(COORDINATION, lambda one: one.rules.coordination)
RELEASES: Final = has(
    f"{COORDINATION} except none", lambda one: one.rules.releases, coordination_text, coordination="release")
_HINTS: Final = has(
    f"{COORDINATION:hint}, hint:core or hint:host", lambda one: one.rules.hints, coordination_text, coordination="hint")
_NO_RELEASES: Final = "none, release, release:core, release:host"
_UNIT_WORDS: Final = "units of several cores, or amounts of their hosts"

POLICY: Final[tuple[Conflict, ...]] = (
    Conflict(_HINTS, PROMISED, "as a hint invalidates what the job has promised", _NO_RELEASES),
    Conflict(
        _HINTS, headless("hints", ", and directs no hints"), reason=NO_HEAD,
        allowed=f"{_NO_RELEASES}; or a policy or a scheduler that directs 'hints'"),
)

UNAWARE: Final = (unaware("coordination", RELEASES, f"{COORDINATION:none}"),)
FAIR_START: Final = (
    Conflict(
        REPEATS, RELEASES, reason="with {second} the cores that jobs would release at other instants are unknown",
        allowed=f"{COORDINATION:none}"),
)

RUN: Final[tuple[Conflict, ...]] = (
    Conflict(DRAINS, RELEASES, reason=UNDRAINED, allowed="state down"),
    Conflict(
        has(f"{COORDINATION} of cores", lambda run: run.releases_cores, coordination_text, coordination="release"),
        has(
            f"{ALLOCATOR} of whole hosts, or {REQUESTS} of units of several cores or of amounts of their hosts",
            lambda run: run.allocator.whole_hosts or run.asks("per_unit") or run.asks("unit_cores", 1),
            lambda run: "hosts that are not shared" if run.allocator.whole_hosts else _UNIT_WORDS,
            allocator="whole-host"),
        "which cannot be released core by core", "none, release:host, hint:host"),
)
