"""Declarations of the features of running jobs: releases, requests, and commands after a pass."""

from bls.engine import hooks as h
from bls.engine import state as b
from bls.engine.feature import Feature
from bls.engine.status import BatchStatus

_HERE = "bls.engine.features.running"


HOLDERS = Feature(
    ("releases",),
    on={h.TAKEN: f"{_HERE}.releases:take_up"},
    plays={h.GIVE_BACK: f"{_HERE}.releases:give_up"},
    grow={BatchStatus.RELEASES_FULL: lambda state: (state.releases, len(state.holder))},
    check=f"{_HERE}.releases:check_running",
    sizes=lambda run: {"held": run.cores, "releasing": run.cores, "releases": 4 * run.cores},
)

RELEASES = Feature(
    ("releases",),
    lambda run: run.settings.releases != b.BY_DRAIN,
    on={h.NEXT: f"{_HERE}.releases:next_release", h.INSTANT: f"{_HERE}.releases:handle_releases"},
    deals=lambda state: ("releases", "awaits_outcomes"),
)

REQUESTS = Feature(
    ("resizing",),
    lambda run: run.settings.resizing == b.EVOLVE,
    on={h.INSTANT: f"{_HERE}.releases:make_width_requests"},
    deals=lambda state: ("evolves",),
    sizes=lambda run: {"releasing": 2 * run.cores, "width_requests": 4 * run.cores},
)

PROMISES = Feature(
    ("promises",),
    on={h.END_KNOWN: f"{_HERE}.directed:use_known_end"},
    deals=lambda state: ("promises", "awaits_outcomes"),
)

WIDTHS = Feature(
    ("resizing",),
    on={h.AFTER_PASS: f"{_HERE}.widths:resize_running"},
    deals=lambda state: ("resizes",),
    settings=lambda run: {"widest": run.cores},  # a job may get all cores
    sizes=lambda run: {"resizing": run.cores, "requested_widths": run.jobs},
    commands=1,
)

HINTS = Feature(
    ("hints",),
    lambda run: run.settings.hints == b.OF_HEAD,
    on={h.AFTER_PASS: f"{_HERE}.hints:hint_running"},
    deals=lambda state: ("hints",),
    sizes=lambda run: {"hinted": run.cores},
    commands=1,
)

HINTS_AS_DECIDED = Feature(
    ("hints",),
    lambda run: run.settings.hints == b.BY_POLICY,
    on={h.AFTER_PASS: f"{_HERE}.hints:hint_as_decided"},
    deals=lambda state: ("hints",),
    sizes=lambda run: {"hinted": run.cores, "directed": 5 * run.cores},
    commands=1,
)


DIRECTS = Feature(
    ("directs",),
    lambda run: run.settings.directs & (b.SCALES | b.CUTS),
    on={h.AFTER_PASS: f"{_HERE}.directed:direct_running"},
    deals=lambda state: ("directs", "cuts", "awaits_outcomes") + ("scales",) * (state.settings.directs & b.SCALES > 0),
    sizes=lambda run: {"directed": 5 * run.cores, "scaled": run.cores, "scaling": run.jobs},
    commands=3,  # one per core, one for all cores, one for the end
)

COMMANDS = Feature(
    ("max_commands",),
    on={h.BEFORE_PASS: f"{_HERE}.commands:room"},
    # Each of these features may send commands to every job.
    sizes=lambda run: {
        "interrupted": run.cores * run.settings.command_sources,
        "commands": 4 * run.cores * run.settings.command_sources,
    },
    grow={BatchStatus.COMMANDS_FULL: lambda state: (state.commands, state.settings.max_commands)},
)

TOGETHER = Feature(
    ("command_sources",),
    lambda run: run.settings.command_sources > 1,
    on={h.AFTER_PASS: f"{_HERE}.commands:sort_commands"},
)
