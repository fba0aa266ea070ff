"""Everything that the batch level can do with or to a job, as features of runs that every coupling must simulate alike."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from application_features import MAPS

import bridge
from bls import ConstraintOptions, Partition, Platform, Rules, SeenJob, View
from bls.engine.features.releases.records import ReleaseRecords
from bls.machine.platform import HostGroup
from bls.workloads.workload import Workload
from bridge.scenarios.application_map import parse_application_map
from bridge.scenarios.scenario import Application
from traces.checks.ledger import check_ledger
from traces.ledger import STATES, WHY

S = 10**9
HOSTS = (HostGroup(2, 4, 40.0, (("gpu", 2),)), HostGroup(2, 4, 60.0))
MACHINE = Platform(HOSTS)

FAILURES = "host,down_s,up_s\n0,55,80\n2,100,140\n1,200,201\n3,330,500\n0,400,420\n"
WINDOWS = MAPS["windows"]
REQUESTS = "job_id,unit_cores,gpu\n103,2,1\n105,1,1\n115,4,\n"


def jobs(n: int = 40) -> Workload:
    """Jobs 100, 101, … of 1 to 12 cores, every fifth with an estimate that is too short, some withdrawn, some in a chain."""
    rows = [(100 + k, 11 * k, 20 + 13 * k % 60, 1 + 5 * k % 12, (10 if k % 5 == 0 else 90)) for k in range(n)]
    made = Workload.from_jobs(rows)
    number = np.arange(n)
    preceding = np.where(number % 4 == 3, made.job_id - 2, -1)
    cancel = np.where(number % 9 == 5, made.submit_ns + 40 * S, -1)
    return replace(
        made,
        preceding=preceding,
        think_ns=np.where(preceding >= 0, 7 * S, 0),
        cancel_ns=cancel,
        user=number % 3,
        queue=np.where(made.cores <= 6, 3, 7),
    )


def running_at_first() -> Workload:
    """The first three run already at time 0."""
    made = jobs()
    first = np.arange(len(made)) < 3
    cores = np.where(first, 4, made.cores)
    submit_ns = np.where(first, 0, made.submit_ns)
    return replace(made, submit_ns=submit_ns, cores=cores, preset=first.astype(np.int64), cancel_ns=np.array(-1))


def of_unknown_run_times() -> Workload:
    """Every ninth was withdrawn before it started, so that nobody knows how long it would have run."""
    made = jobs()
    gone = made.cancel_ns >= 0
    return replace(made, run_ns=np.where(gone, 1, made.run_ns), status=np.where(gone, 5, -1))


class Impatient:
    """Starts what fits in the order of size, and looks again after three seconds."""

    name = "impatient"

    def decide(self, view: View) -> list[SeenJob]:
        free, chosen = view.free_cores, []
        for job in sorted(view.waiting, key=lambda job: (-job.cores, job.job_id)):
            if job.cores <= free and view.now_ns >= job.submit_ns + 2 * S:
                free -= job.cores
                chosen.append(job)
        if view.n_waiting:
            view.wake_at(view.now_ns + 3 * S)
        return chosen


@dataclass(frozen=True)
class BatchFeature:
    """Options of a run, and the states in which some of its jobs must end, so that it is a test of them."""

    options: dict[str, Any]
    ends: tuple[str, ...] = ("completed",)
    platform: Platform = MACHINE
    files: dict[str, str] = field(default_factory=dict)
    workload: Callable[[], Workload] = jobs

    def simulated(self, folder: Path, **options: Any) -> bridge.Result:
        given: dict[str, Any] = {"als": "ss", "variation": 0.25, "tasks_per_core": 3, "seed": 5}
        given |= self.options | options
        names: dict[str, Any] = {}
        for name, text in self.files.items():
            if text.startswith("mtbf") or name == "malleable":
                names[name] = text
                continue
            path = folder / (f"{name}.toml" if name == "windows" else f"{name}.csv")
            path.write_text(text, encoding="utf-8")
            names[name] = str(path)
        constraints = ConstraintOptions(dependencies=given.pop("dependencies", False), **names)
        result = bridge.simulate(self.workload(), self.platform, constraints=constraints, **given)
        check_ledger(result.ledger)
        return result

    def check(self, result: bridge.Result) -> None:
        """Check that the intended events happen."""
        records = result.ledger.jobs
        ends = {STATES[k] for k in records.state.tolist()}
        assert set(self.ends) <= ends, ends
        # Nobody is lost: each job number has one attempt that is the last, and it is no requeued one.
        final = records.state != STATES.index("requeued")
        assert sorted(records.job_id[final].tolist()) == list(range(100, 140))
        started = records.start_ns >= 0
        assert ((records.why == WHY.index("never")) == ~started).all()
        assert (records.eligible_ns[started] <= records.start_ns[started]).all()


PARTITIONED = Platform(
    HOSTS,
    partitions=(
        Partition("small", hosts="0-1", swf_queues=(3,), priority=2, max_cores_per_user=6),
        Partition("wide", hosts="0-3", swf_queues=(7,)),
    ),
)


EVOLVING = parse_application_map(MAPS["widening"], "evolving")


@dataclass(frozen=True)
class Releasing(BatchFeature):
    """A run in which cores are released, and at which some jobs start."""

    def check(self, result: bridge.Result) -> None:
        """They are, and somebody uses them before their job ends."""
        super().check(result)
        assert len(result.releases) > 20
        releases, jobs = result.ledger.of(ReleaseRecords), result.ledger.jobs
        assert releases is not None
        assert np.isin(jobs.start_ns, releases.released_ns).any(), "nobody starts as cores are released"


@dataclass(frozen=True)
class Promising(BatchFeature):
    """A run that plans with what running applications promise, and starts some job at another instant for it."""

    def check(self, result: bridge.Result) -> None:
        """It does not come to what requests alone would."""
        super().check(result)
        with TemporaryDirectory() as folder:
            rules = replace(self.options["rules"], estimates="requested")
            plain = self.simulated(Path(folder), rules=rules)
        assert plain.ledger.jobs.start_ns.tolist() != result.ledger.jobs.start_ns.tolist()


EVERYTHING = Rules("conservative", kill_at_walltime=True, decision_cost_ns=S)

BATCH_FEATURES = {
    "releases by host, failures, kills": Releasing(
        {"rules": Rules("easy", kill_at_walltime=True, coordination="release:host"), "als": "static"},
        ("completed", "killed", "requeued"),
        files={"failures": FAILURES, "windows": WINDOWS},
    ),
    "promises, everything": Promising(
        {"rules": replace(EVERYTHING, estimates="application"), "dependencies": True},
        ("completed", "killed", "requeued", "cancelled"),
        files={"failures": FAILURES, "windows": WINDOWS, "requests": REQUESTS},
    ),
    "hints by host, failures, kills": Releasing(
        {"rules": Rules("easy", kill_at_walltime=True, coordination="hint:host"), "als": "fac"},
        ("completed", "killed", "requeued"),
        files={"failures": FAILURES, "windows": WINDOWS},
    ),
    "widths, failures, kills": Releasing(
        {"rules": Rules("conservative", kill_at_walltime=True, resize="equal", coordination="release"), "als": "fac"},
        ("completed", "killed", "requeued"),
        files={"failures": FAILURES, "malleable": "0.8:0.25:3"},
    ),
    "evolving, failures, kills": Releasing(
        {
            "rules": Rules("easy", kill_at_walltime=True, resize="evolve"),
            "application": Application(applications=EVOLVING, resize_ns=S // 10),
        },
        ("completed", "killed", "requeued"),
        files={"failures": FAILURES, "malleable": "1:0.25:2"},
    ),
    "python-cut": BatchFeature(
        {"bls": Impatient(), "rules": Rules(kill_at_walltime=True), "dependencies": True},
        ("completed", "killed", "requeued", "cancelled"),
        files={"failures": FAILURES},
    ),
    "preset": BatchFeature({"backfill": "easy"}, platform=PARTITIONED, workload=running_at_first),
    "withdrawn": BatchFeature({"backfill": "conservative"}, ("completed", "cancelled"), workload=of_unknown_run_times),
    "all": BatchFeature(
        {"rules": EVERYTHING, "dependencies": True},
        ("completed", "killed", "requeued", "cancelled"),
        files={"failures": FAILURES, "windows": WINDOWS, "requests": REQUESTS},
    ),
}  # fmt: skip
