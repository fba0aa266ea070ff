"""Needs: what a run asks of every application simulator, besides the protocol. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from bls.options import COORDINATION, FALLBACK, MALLEABLE, RESIZE
from bridge.protocol.messages import Hello
from traces.base.errors import begins_at


@dataclass(frozen=True)
class Needs:
    """What the application simulators of a run must be able to do."""

    releases: bool = False  # whether they are to say which cores a job needs no more
    hints: bool = False  # whether they are told for which of a job's cores others wait
    resizes: bool = False  # whether cores come to jobs that run, and are asked for
    wishes: bool = False  # whether they are to say for how many cores jobs wish
    scaled_by: str = ""  # by what the speeds of cores are scaled, as an option with its value; empty where they are not

    def unmet_by(self, hello: Hello) -> str | None:
        """The first need that a simulator cannot meet, by its hello, as a line for the user; None if it meets all."""
        hint = f"{COORDINATION:{'hint' if self.hints else 'release'}}"
        with_hints = "none, release" if hello.releases else "none"
        by_limits = begins_at(self.scaled_by, str(FALLBACK))
        otherwise = "none, hold, stop:idle, stop:off" if by_limits else "a policy that leaves speeds alone"
        needed = (
            ("releases", self.releases, hint, "cannot follow it", "none"),
            ("resizes", self.resizes, str(MALLEABLE), "cannot follow it", f"{RESIZE:mold}, or without it"),
            ("wishes", self.wishes, f"{RESIZE:evolve}", "never wishes", "another one"),
            ("scales", bool(self.scaled_by), self.scaled_by, "cannot follow it", otherwise),
            ("hints", self.hints, hint, "cannot follow it", with_hints),
        )
        for what, is_needed, option, lack, allowed in needed:
            if is_needed and not getattr(hello, what):
                return f"{option}: {hello.name!r} {lack}: its hello says {what} = false; allowed: {allowed}"
        return None
