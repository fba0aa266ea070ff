"""The scenario of the two-level paper's section 4.2: four jobs on five cores, whose ends an assignment of three tasks decides.

    python -m tools.paper_four_jobs

Prints the tables of ``docs/explanation/two-level-paper.md`` and ``docs/explanation/coordination.md`` and draws their
pictures. The paper gives no numbers: here a core does a GFLOP per second, the first two tasks of a job take 5 s each and
the third 10 s; J0 and J1 are submitted at 0, J2 at 1 s and J3 at 2 s.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import bridge
from als import PythonTechnique
from als.techniques.python_technique import Ask
from bls import HostGroup, Platform, Rules, Workload
from bridge.scenarios.application_level import ApplicationLevel
from tools.plain_tool import only
from traces.figures.drawing.canvas import Figure, save
from traces.figures.run.gantt import core_gantt_figure

__all__ = ["ASSIGNMENTS", "COORDINATIONS", "CORES", "coordinated", "main", "picture", "simulated", "table"]

IMAGES: Final = Path(__file__).resolve().parent.parent / "docs" / "images"

#: The cores that each job requests: R0 to R4 are cores 0 to 4.
CORES: Final = {0: "0-1", 1: "2-3", 2: "2 4", 3: "0 4"}

#: L(T1) + L(T2) = L(T3), GFLOP.
LENGTHS: Final = (5.0, 5.0, 10.0)


class SmallChunkFirst:
    """STATIC with what cannot be divided at its end: of three tasks, one for the first core and two for the second."""

    def chunk(self, ask: Ask) -> int:
        """Chunks of ⌊N / P⌋ tasks, and for the last core the rest."""
        return ask.remaining if ask.request + 1 == ask.n_cores else ask.n_tasks // ask.n_cores


#: Who assigns tasks, by what the page calls it.
ASSIGNMENTS: Final[dict[str, str | PythonTechnique]] = {
    "static": "static",
    "the smaller chunk first": PythonTechnique(SmallChunkFirst),
    "ss": "ss",
}


#: What the levels tell each other.
COORDINATIONS: Final = ("none", "release", "hint")


def simulated(als: str | PythonTechnique, coordination: str = "none", coupling: str = "inline") -> bridge.Result:
    """The four jobs under FCFS."""
    jobs = Workload.from_jobs([(number, submit_s, 20, 2, 20) for number, submit_s in enumerate((0, 0, 1, 2))])
    with tempfile.TemporaryDirectory() as folder:
        lengths, applications = Path(folder, "lengths.txt"), Path(folder, "applications.toml")
        lengths.write_text("".join(f"{length}\n" for length in LENGTHS), encoding="utf-8")
        applications.write_text("[default]\ntasks = 3\n", encoding="utf-8")
        level = ApplicationLevel(f"file:{lengths},scale=no", applications=applications)
        machine = Platform((HostGroup(5, 1, 1.0),))
        options = {"allocator": "given", "requested": CORES, "coupling": coupling}
        return bridge.simulate(jobs, machine, als=als, level=level, rules=Rules(coordination=coordination), **options)


def table(results: Mapping[str, bridge.Result]) -> list[str]:
    """Chunks of a job, load imbalance and instants, a row an assignment."""
    rows = [
        "| assignment | chunks of a job | its run | imbalance | J2 starts | J3 starts |",
        "|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        tasks, jobs = result.tasks, result.jobs.set_index("job_id")
        chunks = tasks[tasks["job_id"] == 0].groupby("chunk", sort=True).size().tolist()
        run, second, third = (
            f"{ns / 1e9:g} s" for ns in (jobs.end_ns[0] - jobs.start_ns[0], jobs.start_ns[2], jobs.start_ns[3])
        )
        rows.append(
            f"| {name} | {', '.join(map(str, chunks))} | {run} | {jobs.imbalance[0]:.3g} | {second} | {third} |"
        )
    return rows


def coordinated(als: Mapping[str, str | PythonTechnique] = ASSIGNMENTS) -> list[str]:
    """When J2 and J3 start, a row an assignment, by what the levels tell each other."""
    rows = [
        "| assignment | " + " | ".join(f"`{way}`: J2, J3 start" for way in COORDINATIONS) + " |",
        "|---" * (1 + len(COORDINATIONS)) + "|",
    ]
    for name, technique in als.items():
        found = []
        for way in COORDINATIONS:
            start = simulated(technique, way).jobs.set_index("job_id").start_ns
            found.append(f"{start[2] / 1e9:g} s, {start[3] / 1e9:g} s")
        rows.append("| " + " | ".join([name, *found]) + " |")
    return rows


def picture(result: bridge.Result, title: str) -> Figure:
    """Every task on its core."""
    machine = result.ledger.machine
    return core_gantt_figure(
        result.tasks, first_core=machine.first_core, host_names=[f"R{core}" for core in range(5)], title=title
    )


def main() -> int:
    """Print the table, draw the pictures."""
    results = {name: simulated(als) for name, als in ASSIGNMENTS.items()}
    print("\n".join([*table(results), "", *coordinated()]))
    for name, file in (("static", "static"), ("the smaller chunk first", "small-first")):
        save(picture(results[name], f"J0 to J3, FCFS × {name}"), IMAGES / f"paper-four-jobs-{file}.png")
    for way in ("release", "hint"):
        save(picture(simulated("ss", way), f"J0 to J3, FCFS × ss, {way}"), IMAGES / f"paper-four-jobs-ss-{way}.png")
    return 0


if __name__ == "__main__":
    only(__doc__)
    sys.exit(main())
