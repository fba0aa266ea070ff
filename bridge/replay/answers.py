"""What the application level is asked of jobs, and has not answered yet."""

from __future__ import annotations


class Answers:
    """Rows of jobs whose end is wanted: of those that Slurm starts, and of those that it cuts. ``recorded``: whether
    nobody is asked, as jobs last for as long as the log says."""

    def __init__(self, recorded: bool) -> None:
        self.recorded = recorded
        self.started: list[int] = []  # that await an answer
        self.unknown: dict[int, None] = {}  # of running jobs whose end is not known yet
        self.cut: list[int] = []  # of which nobody has been told yet
        self.stop_ns: dict[int, int] = {}

    def ask(self, row: int) -> None:
        """A job has started."""
        self.started.append(row)
        self.unknown[row] = None

    def note_cut(self, row: int, now_ns: int) -> None:
        """Slurm has cut a job."""
        if not self.recorded:
            self.stop_ns[row] = now_ns
            self.cut.append(row)
            self.unknown[row] = None
