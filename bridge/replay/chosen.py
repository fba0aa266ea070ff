"""The choices of a command or a study's cell for a replay: the Slurm, its configuration and its clock."""

from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from bls.engine.features.switches.options import SWITCHES
from bls.machine.platform import Platform
from bridge.options.declared import PHASE
from bridge.options.slurm import SlurmOptions
from bridge.replay.configuration import Configuration, of_machine, settings
from bridge.replay.installed import installed_slurm
from bridge.replay.run import Replay, ReplayOptions, replay
from bridge.replay.site import of_site
from bridge.scenarios.conflicts import REPLAY
from bridge.scenarios.ready import ReadyScenario
from bridge.scenarios.scenario import Scenario
from bridge.watches import Watch
from traces.base.errors import InputError
from traces.base.options import check, check_fields
from traces.base.time import NS_PER_S, format_ns

#: Interval with two passes of backfilling, and one of every other periodic activity of Slurm except priorities.
_SETTLE_S = 70.0
_GOLDEN = 0.6180339887498949  # multiples of the golden ratio's fraction fill a cycle evenly, for any number of them
_MS = 1_000_000


def replay_options(plain: Scenario) -> ReplayOptions:
    """The options of a run in which Slurm decides: those of a run, but jobs end at their limit."""
    given = {one.name: getattr(plain, one.name) for one in fields(plain)}
    allocator = plain.batch.allocator if plain.batch.switches is None else "topology"  # Slurm uses switches
    given["batch"] = replace(plain.batch, kill_at_walltime=True, allocator=allocator)
    return ReplayOptions(**given)


def phase_of(repeat: int, cycle_ns: int) -> int | None:
    """The phase of a repeat, by its number, ms in ns: None for 0; the others fill a cycle evenly, for any number of repeats."""
    return round(repeat * _GOLDEN % 1.0 * cycle_ns) // _MS * _MS if repeat else None


@dataclass(frozen=True)
class SlurmChoice(SlurmOptions):
    """Checked options. Without a phase it follows from the number of the repeat, or the seed. Raises InputError."""

    def __post_init__(self) -> None:
        check(REPLAY, {"settle": self.settle, "rate": self.rate})
        check_fields(self)

    def machine(self) -> Platform | None:
        """The machine of the site's file, with its switches if a platform can have them; None without a file."""
        if self.slurm_conf is None:
            return None
        found = self._with_switches(of_site(self.slurm_conf, settings(self.set)))
        try:
            return replace(found.platform(), switches=found.platform_switches())
        except InputError:
            return found.platform()

    def switched(self, machine: Platform) -> Platform:
        """A machine with Slurm's switches. Raises InputError if a platform cannot have them."""
        try:
            return replace(machine, switches=self.configuration(machine).platform_switches())
        except InputError as error:
            raise InputError(f"{SWITCHES}: {error.text}") from None

    def _with_switches(self, found: Configuration) -> Configuration:
        return found if self.topology is None else found.with_switches(self.topology)

    def configuration(self, machine: Platform) -> Configuration:
        """The configuration of Slurm for a machine. Raises InputError if Slurm cannot have it, or a key or file is wrong."""
        given = settings(self.set)
        found = of_machine(given, machine) if self.slurm_conf is None else of_site(self.slurm_conf, given)
        return self._with_switches(found)

    @property
    def settles_s(self) -> float:
        """Idle time after which the date jumps; 0: never. By default 70 s, or never with a running clock."""
        return self.settle if self.settle is not None else 0.0 if self.rate else _SETTLE_S

    def phase_ns(self, found: Configuration, repeat: int) -> int | None:
        """The phase of a repeat or a seed. Raises InputError if it is not within Slurm's cycle."""
        if self.phase is None:
            return phase_of(repeat, found.backfills_ns)
        phase_ns = round(self.phase * NS_PER_S)
        if not phase_ns < found.backfills_ns:
            allowed = f"0 up to below {format_ns(found.backfills_ns)}, the cycle of Slurm's backfilling"
            raise InputError(f"{PHASE}: {format_ns(phase_ns)}; allowed: {allowed}")
        return phase_ns

    def check(self, machine: Platform) -> None:
        """Check everything known before a replay. Raises InputError if there is no Slurm, or a choice is not allowed."""
        installed_slurm()
        self.phase_ns(self.configuration(machine), 0)

    def replay(self, scenario: ReadyScenario, folder: Path, *, repeat: int, keep_tasks: bool, watch: Watch) -> Replay:
        """Run a scenario with the phase of a repeat; ``folder`` is an empty one. Errors as ``bridge.replay.run.replay``."""
        found = self.configuration(scenario.platform)
        return replay(
            scenario,
            found,
            installed_slurm(),
            folder,
            settle_ns=round(self.settles_s * NS_PER_S),
            rate=self.rate,
            phase_ns=self.phase_ns(found, repeat),
            recorded_priorities=self.priorities == "recorded",
            cleanup_ns=round(self.cleanup * NS_PER_S),
            keep_tasks=keep_tasks,
            watch=watch,
        )

    def names(self, machine: Platform, repeat: int) -> dict[str, Any]:
        """Plain values for a record of the run."""
        phase_ns = self.phase_ns(self.configuration(machine), repeat)
        return {
            "slurm_conf": self.slurm_conf,
            "set": list(self.set),
            "settle_s": self.settles_s,
            "topology": self.topology,
            "priorities": self.priorities,
            "rate": self.rate,
            "phase_s": None if phase_ns is None else phase_ns / NS_PER_S,
            "cleanup_s": round(self.cleanup * NS_PER_S) / NS_PER_S,
        }
