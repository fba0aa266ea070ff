"""Needs: what a run asks of every application simulator, besides the protocol. No I/O."""

from __future__ import annotations

from dataclasses import dataclass

from bridge.protocol.messages import Hello

__all__ = ["Needs"]


@dataclass(frozen=True)
class Needs:
    """What the application simulators of a run must be able to do.

    Attributes
    ----------
    releases : bool
        Whether they are to say which cores a job needs no more.
    hints : bool
        Whether they are told for which of a job's cores others wait.
    resizes : bool
        Whether cores come to jobs that run, and are asked for.
    wishes : bool
        Whether they are to say for how many cores jobs wish.
    scales : bool
        Whether the speeds of cores are scaled.
    """

    releases: bool = False
    hints: bool = False
    resizes: bool = False
    wishes: bool = False
    scales: bool = False

    def unmet_by(self, hello: Hello) -> str | None:
        """The first need that a simulator cannot meet, by its hello, as a line for the user; None if it meets all."""
        if self.releases and not hello.releases:
            what = "hint" if self.hints else "release"
            return f"--coordination {what}: {hello.name!r} cannot follow it: its hello says releases = false"
        if self.resizes and not hello.resizes:
            return f"--resize: {hello.name!r} cannot follow it: its hello says resizes = false"
        if self.wishes and not hello.wishes:
            return f"--resize evolve: {hello.name!r} never wishes: its hello says wishes = false"
        if self.scales and not hello.scales:
            return f"scaled speeds: {hello.name!r} cannot follow them: its hello says scales = false"
        if self.hints and not hello.hints:
            return f"--coordination hint: {hello.name!r} cannot follow it: its hello says hints = false"
        return None
