"""What is chosen for a replay, by a command or by a study's cell: which Slurm, how it is told, and under which clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from bls.machine.platform import Platform
from bls.options import SWITCHES
from bridge.couplings import Watch
from bridge.options.declared import CLEANUP, PHASE, PRIORITIES, RATE, SETTLE
from bridge.replay.configuration import Configuration, of_machine, settings
from bridge.replay.installed import installed_slurm
from bridge.replay.run import Replay, ReplayOptions, replay
from bridge.replay.site import of_site
from bridge.scenarios.conflicts import REPLAY
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from traces.base.conflicts import check
from traces.base.errors import InputError
from traces.base.time import NS_PER_S, format_ns

#: Two passes of backfilling are made in this time, and one of all else that Slurm does by itself, but for priorities.
_SETTLE_S = 70.0

#: Multiples of the golden ratio's fraction fill a cycle evenly, however many there are.
_GOLDEN = 0.6180339887498949

_MS = 1_000_000


def replay_options(plain: Scenario) -> ReplayOptions:
    """The options of a run in which Slurm decides: as those of a run, but jobs end at their limit."""
    given = {one.name: getattr(plain, one.name) for one in fields(plain)}
    allocator = plain.batch.allocator if plain.batch.switches is None else "topology"  # Slurm looks at switches
    given["batch"] = replace(plain.batch, kill_at_walltime=True, allocator=allocator)
    return ReplayOptions(**given)


def phase_of(repeat: int, cycle_ns: int) -> int | None:
    """The phase of a repeat, by its number, ms in ns: None of 0; however many there are, the others fill a cycle evenly."""
    return round(repeat * _GOLDEN % 1.0 * cycle_ns) // _MS * _MS if repeat else None


@dataclass(frozen=True)
class SlurmChoice:
    """Which Slurm, and under which clock."""

    slurm_conf: str | None = None  # a site's file, whose nodes are the machine
    given: tuple[str, ...] = ()  # keys of slurm.conf, as ``KEY=VALUE``
    # when nothing has happened for so long the date jumps; 0: never. None: 70 s, or never if the clock runs
    settle_s: float | None = None
    rate: float = 0.0  # as of ``bridge.replay.run.replay``
    phase_ns: int | None = None  # the same; None: by the number of the repeat, or the seed (:func:`phase_of`)
    topology: str | None = None  # a file of switches
    priorities: str = PRIORITIES.default  # ``slurm`` or ``recorded``
    cleanup_ns: int = 0  # as of ``bridge.replay.run.replay``

    def machine(self) -> Platform | None:
        """The machine of the site's file, with its switches where a platform can have them; None without one. Raises
        InputError if the file cannot be used."""
        if self.slurm_conf is None:
            return None
        found = self._with_switches(of_site(self.slurm_conf, settings(self.given)))
        try:
            return replace(found.platform(), switches=found.platform_switches())
        except InputError:
            return found.platform()

    def switched(self, machine: Platform) -> Platform:
        """A machine, with the switches by which jobs can be kept together. Raises InputError if a platform cannot have
        them."""
        try:
            return replace(machine, switches=self.configuration(machine).platform_switches())
        except InputError as error:
            raise InputError(f"{SWITCHES}: {error.text}") from None

    def _with_switches(self, found: Configuration) -> Configuration:
        return found if self.topology is None else found.with_switches(self.topology)

    def configuration(self, machine: Platform) -> Configuration:
        """What Slurm is told, of a machine that is the site's if there is one. Raises InputError if a key or the file
        cannot be used, or Slurm cannot have such a machine."""
        given = settings(self.given)
        return self._with_switches(
            of_machine(given, machine) if self.slurm_conf is None else of_site(self.slurm_conf, given)
        )

    @property
    def settles_s(self) -> float:
        """What ``settle_s`` comes to."""
        return self.settle_s if self.settle_s is not None else 0.0 if self.rate else _SETTLE_S

    def phase(self, found: Configuration, repeat: int) -> int | None:
        """What ``phase_ns`` comes to, of a repeat or a seed. Raises InputError if it is not within Slurm's cycle."""
        if self.phase_ns is None:
            return phase_of(repeat, found.backfills_ns)
        if not self.phase_ns < found.backfills_ns:
            cycle = format_ns(found.backfills_ns)
            raise InputError(
                f"{PHASE}: {format_ns(self.phase_ns)}; allowed: 0 up to below {cycle}, the cycle of Slurm's backfilling"
            )
        return self.phase_ns

    def check(self, machine: Platform) -> None:
        """See that it can be replayed, as far as this is known before. Raises InputError if there is no Slurm, or as
        :meth:`configuration` and :meth:`phase`."""
        installed_slurm()
        self.phase(self.configuration(machine), 0)

    def replay(self, scenario: ReadyScenario, folder: Path, *, repeat: int, keep_tasks: bool, watch: Watch) -> Replay:
        """Run a scenario, with the phase of a repeat; ``folder`` is an empty one. Errors as ``bridge.replay.run.replay``."""
        found = self.configuration(scenario.platform)
        return replay(
            scenario,
            found,
            installed_slurm(),
            folder,
            settle_ns=round(self.settles_s * NS_PER_S),
            rate=self.rate,
            phase_ns=self.phase(found, repeat),
            recorded_priorities=self.priorities == "recorded",
            cleanup_ns=self.cleanup_ns,
            keep_tasks=keep_tasks,
            watch=watch,
        )

    def names(self, machine: Platform, repeat: int) -> dict[str, Any]:
        """For a record of the run, as plain values."""
        found = self.configuration(machine)
        phase_ns = self.phase(found, repeat)
        return {
            "slurm_conf": self.slurm_conf,
            "set": list(self.given),
            "settle_s": self.settles_s,
            "topology": self.topology,
            "priorities": self.priorities,
            "rate": self.rate,
            "phase_s": None if phase_ns is None else phase_ns / NS_PER_S,
            "cleanup_s": self.cleanup_ns / NS_PER_S,
        }


def given_choice(
    slurm_conf: str | None,
    keys: Sequence[str] | None,
    settle_s: float | None,
    rate: float,
    phase_s: float | None,
    topology: str | None = None,
    priorities: str = PRIORITIES.default,
    cleanup_s: float = CLEANUP.default,
) -> SlurmChoice:
    """A choice as options give it; each is checked. Raises InputError if one is out of its range, or two cannot be
    together."""
    settle_s = None if settle_s is None else SETTLE.check(settle_s)
    check(REPLAY, {"settle": settle_s, "rate": rate})
    phase_ns = None if phase_s is None else round(PHASE.check(phase_s) * NS_PER_S)
    cleanup_ns = round(CLEANUP.check(cleanup_s) * NS_PER_S)
    return SlurmChoice(
        slurm_conf,
        tuple(keys or ()),
        settle_s,
        RATE.check(rate),
        phase_ns,
        topology=topology,
        priorities=PRIORITIES.check(priorities),
        cleanup_ns=cleanup_ns,
    )
