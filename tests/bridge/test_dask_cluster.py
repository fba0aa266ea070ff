"""Studies on a real Dask cluster of this machine: the same results, workers that are killed, and what is said of unfit ones."""

import asyncio
import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import tomllib
import urllib.request
import warnings
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from faulty_runs import await_that, descendants
from interrupt_soak import COMMANDS, interrupted
from studies import killing_policy, run_command, write_study
from tables import table_text

from bridge.studies.executors import dask_cluster, dask_tasks
from bridge.studies.executors.cluster_process import CERTIFICATE, KEY, security_of
from bridge.studies.executors.clusters import local_cluster, slurm_cluster, slurm_settings
from bridge.studies.executors.dask_cluster import DaskCells, cluster_executor
from bridge.studies.executors.dask_library import Cluster
from bridge.studies.executors.dask_tasks import Terms, unfit
from bridge.studies.executors.executor import Executor, WorkSummary
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.results import RESULTS
from bridge.studies.run_study import Report, run_study
from bridge.workers.credentials import make_certificate
from traces.base.errors import InputError, PeerError

TOTAL = 24

# Dask's own business: event loops and sockets that it leaves to the collector when workers are killed.
pytestmark = [pytest.mark.whole, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True, scope="module")
def _patience() -> Iterator[None]:
    """Bounds that only a fault reaches, however busy the machine is."""
    import dask

    bounds = {f"distributed.comm.timeouts.{name}": "600s" for name in ("connect", "tcp")}
    # By itself a local cluster gives up a worker that is away 15 s after it died, also if it is away for the second time.
    bounds["distributed.deploy.lost-worker-timeout"] = "600s"
    with pytest.MonkeyPatch.context() as patch, dask.config.set(bounds):
        for module in (dask_tasks, dask_cluster):
            patch.setattr(module, "_TIMEOUT_S", 600.0)
        yield


def here(needs: WorkSummary) -> Executor:
    return Here()


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a scheduler with stock workers of one thread and of two, each under a nanny; the tests share it."""
    from distributed import LocalCluster, Nanny

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with LocalCluster(
            n_workers=1, processes=True, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as one:
            one.sync(_add_worker, one, Nanny)
            yield one.scheduler_address


async def _add_worker(cluster: object, kind: object) -> None:
    spec = {"cls": kind, "options": {"nthreads": 2, "silence_logs": 50}}
    cluster.worker_spec["wide"] = spec  # type: ignore[attr-defined]
    await cluster._correct_state()  # type: ignore[attr-defined]


def on(address: str, path: Path, out: Path) -> Report:
    study = load_study(path)
    return run_study(study, out, cluster_executor(address, study, None))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole")
    path = write_study(folder, killing_policy(folder, "pass"))
    run_study(load_study(path), folder / "out", here)
    return folder / "out" / RESULTS


def test_it_is_as_run_here_and_workers_write_kept_cells(cluster: str, whole: Path, tmp_path: Path) -> None:
    path = write_study(tmp_path, killing_policy(tmp_path, "pass"), 'keep = ["jobs"]')
    assert on(cluster, path, tmp_path / "out") == Report(TOTAL, 0, 0, ())
    assert (tmp_path / "out" / RESULTS).read_bytes() == whole.read_bytes()
    costs = pd.read_parquet(tmp_path / "out" / "costs.parquet")
    assert costs["worker"].nunique() == 2
    assert len(list((tmp_path / "out/cells").glob("*/*/jobs.parquet"))) == TOTAL
    assert not list((tmp_path / "out").glob(".twolevel-*"))


def test_a_worker_that_is_killed_takes_nothing_with_it(cluster: str, whole: Path, tmp_path: Path) -> None:
    path = write_study(
        tmp_path, killing_policy(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", "'LocalC' not in NAME")
    )
    text = (tmp_path / "fatal.py").read_text().replace("class Fatal", "NAME = ''\nclass Fatal")
    (tmp_path / "fatal.py").write_text(text)
    assert on(cluster, path, tmp_path / "out") == Report(TOTAL, 0, 0, ())
    assert (tmp_path / "done").exists()
    assert (tmp_path / "out" / RESULTS).read_bytes() == whole.read_bytes()


def test_a_cell_that_kills_its_workers_fails_and_the_others_are_done(cluster: str, tmp_path: Path) -> None:
    import distributed

    policy = killing_policy(tmp_path, "os.kill(os.getpid(), signal.SIGKILL)", "len(jobs.job_id) != 20", once=False)
    path = write_study(tmp_path, policy)
    path.write_text(
        path.read_text().replace('als = ["static", "gss"]', 'als = ["static"]').replace("seeds = 2", "seeds = 1")
    )

    def suspects_after(deaths: int) -> None:
        with distributed.Client(cluster, set_as_default=False) as client:
            client.run_on_scheduler(_set_allowed_failures, deaths)

    suspects_after(0)
    report = on(cluster, path, tmp_path / "out")
    suspects_after(3)
    assert (report.total, report.failed) == (8, 1)
    assert "KilledWorker" in report.errors[0]
    found = pd.read_parquet(tmp_path / "out" / RESULTS)
    assert (found["error"] == "").sum() == 7


def _set_allowed_failures(deaths: int, dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = deaths


def test_what_a_worker_lacks_is_said_first(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_study(tmp_path, killing_policy(tmp_path, "pass"))
    real = dask_cluster.terms_of

    def elsewhere(needs: WorkSummary, token: str) -> Terms:
        terms = real(needs, token)
        files = {name.replace("fatal.py", "gone.py"): one for name, one in terms.files.items()}
        return Terms(token, terms.twolevel, files, terms.folder)

    monkeypatch.setattr(dask_cluster, "terms_of", elsewhere)
    with pytest.raises(InputError, match=r"worker tcp://.*gone\.py is missing there"):
        on(cluster, path, tmp_path / "out")


def test_an_unfit_worker_that_joins_stops_it(cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, this = version("twolevel"), str(Path(__file__))
    assert unfit(Terms("t", ours, {}, None)) == ""
    assert "is another file there" in unfit(Terms("t", ours, {this: "0" * 64}, None))
    assert "is not the same folder there" in unfit(Terms("t", ours, {}, str(Path(this).parent)))
    monkeypatch.setattr(dask_cluster.DaskCells, "check", lambda *_: None)
    monkeypatch.setattr(dask_cluster, "terms_of", lambda needs, token: Terms(token, "0.0", {}, None))
    with pytest.raises(PeerError, match=r"a worker that joined cannot run cells: it has twolevel"):
        on(cluster, write_study(tmp_path), tmp_path / "out")


def test_addresses_and_settings_that_are_none(tmp_path: Path) -> None:
    path = write_study(tmp_path)
    plain = path.read_text()
    for where, workers, settings, said in (
        ("slrum", None, "", "unknown kind of cluster 'slrum'; known: slurm, tcp://HOST:PORT, local"),
        ("tcp://h:1", 2, "", "the cluster at tcp://h:1 has its own workers"),
        ("slurm", None, "[cluster.slurm]", r"\[cluster\.slurm\] cores: missing"),
        ("slurm", None, "[cluster.slurm]\ncores = 1", r"\[cluster\.slurm\] memory: missing"),
        ("slurm", None, "[cluster.slurm]\ncores = 1\nmemory = '1GB'\nqueeu = 'x'", "unknown setting 'queeu'; known: q"),
        ("slurm", None, "[cluster.slurm]\ncores = 1\nmemory = '1GB'\njobs = 0", r"\[cluster\.slurm\] jobs"),
    ):
        path.write_text(f"{plain}{settings}\n")
        with pytest.raises(InputError, match=said):
            cluster_executor(where, load_study(path), workers)


@pytest.fixture(scope="module")
def ours() -> Iterator[tuple[Cluster, str]]:
    """A cluster as ``--cluster local`` starts it, and the address of its dashboard."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), local_cluster(1) as cluster:
        found = re.fullmatch(
            r"cluster local: 1 worker processes; its dashboard: (http://127\.0\.0\.1:\d+/status)\n", said.getvalue()
        )
        assert found
        yield cluster, found[1]


def test_a_cluster_of_this_machine_has_a_dashboard(ours: tuple[Cluster, str], whole: Path, tmp_path: Path) -> None:
    cluster, dashboard = ours
    path = write_study(tmp_path, killing_policy(tmp_path, "pass"))

    def executor(needs: WorkSummary) -> Executor:
        return DaskCells(lambda: contextlib.nullcontext(cluster), needs, waits=False)

    assert run_study(load_study(path), tmp_path / "out", executor) == Report(TOTAL, 0, 0, ())
    with urllib.request.urlopen(dashboard, timeout=60) as answer:
        assert b"Bokeh" in answer.read()
    assert (tmp_path / "out" / RESULTS).read_bytes() == whole.read_bytes()


def test_a_stranger_cannot_run_code_in_a_cluster_of_this_machine(ours: tuple[Cluster, str], tmp_path: Path) -> None:
    import distributed

    cluster, _ = ours
    with distributed.Client(cluster.address, security=cluster.security, set_as_default=False) as client:
        (worker,) = client.scheduler_info()["workers"]
    make_certificate(tmp_path / KEY, tmp_path / CERTIFICATE, "a test", ("serverAuth", "clientAuth"))
    # One checks whom it talks to, and has no certificate itself.
    nameless = distributed.Security(require_encryption=True, tls_ca_file=cluster.security.tls_ca_file)
    for protocol, security in (("tcp", None), ("tls", nameless), ("tls", security_of(tmp_path))):
        for address in (cluster.address, worker):
            with pytest.raises((OSError, TypeError, RuntimeError)):
                asyncio.run(_connect(address.replace("tls", protocol), security))


async def _connect(address: str, security: Any) -> None:
    from distributed.comm import connect

    arguments = {} if security is None else security.get_connection_args("client")
    comm = await connect(address, timeout=5, **arguments)
    await comm.write({"op": "identity", "reply": True})
    await comm.read()


def test_its_ports_are_of_this_machine_only(ours: tuple[Cluster, str]) -> None:
    # Those of all processes below this one; an address in /proc/net/tcp is in hexadecimal.
    sockets = set()
    for pid in descendants():
        with contextlib.suppress(OSError):
            if os.getsid(pid) != os.getsid(0):  # else of another test
                sockets |= {os.readlink(one) for one in Path(f"/proc/{pid}/fd").iterdir()}
    lines = [*Path("/proc/net/tcp").read_text().splitlines()[1:], *Path("/proc/net/tcp6").read_text().splitlines()[1:]]
    rows = [line.split() for line in lines]
    listening = [row[1].partition(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in sockets]
    assert len(listening) >= 3  # the scheduler, the dashboard, a worker
    assert set(listening) == {"0100007F"}


@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_cluster_of_this_machine_ends_with_its_command(by: signal.Signals, code: int, tmp_path: Path) -> None:
    again_s = 0.2 if by == signal.SIGINT else 0.0
    ended = interrupted(tmp_path / "s", COMMANDS["cluster"], 0.0, again_s=again_s, at_line="its dashboard", by=by)
    assert (ended.wrong, ended.code) == ("", code)


def test_what_dask_brings_leaves_an_interruption_to_whoever_calls() -> None:
    # In a process of its own: a module is imported once.
    text = (
        "import signal; from bridge.studies.executors.dask_library import dask_library; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); dask_library('dask_jobqueue'); "
        "print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask_cluster, "_TIMEOUT_S", 1)
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match="no Dask scheduler answers there"):
            on(f"tcp://127.0.0.1:{taken.getsockname()[1]}", write_study(tmp_path), tmp_path / "out")


#: Slurm's commands as far as dask_jobqueue needs them: a job is a process of this machine.
SBATCH = table_text(__file__, "sbatch")
SETTINGS = 'cores = 1\nmemory = "1GB"\nqueue = "short"\nwalltime = "00:10:00"\ninterface = "lo"\njobs = 1\n'


def set_up_slurm(folder: Path, monkeypatch: pytest.MonkeyPatch, shell: str) -> None:
    """Put commands of Slurm first in the path."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "sbatch").write_text(SBATCH.format(folder=folder, shell=shell))
    (tools / "scancel").write_text(f'#!/bin/sh\necho "$@" >>"{folder}/cancelled"\n')
    for tool in tools.iterdir():
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")


def check_jobs(folder: Path) -> None:
    lines = (folder / "script").read_text().splitlines()
    assert {"#SBATCH -p short", "#SBATCH -t 00:10:00"} <= set(lines)
    assert (folder / "cancelled").exists()


def test_the_jobs_of_slurm_that_workers_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up_slurm(tmp_path, monkeypatch, "true")
    with slurm_cluster(slurm_settings(tomllib.loads(SETTINGS), None)) as cluster:
        assert cluster.address.startswith("tcp://127.0.0.1:")
        await_that((tmp_path / "script").exists)
    check_jobs(tmp_path)


@pytest.mark.release
def test_workers_as_jobs_of_slurm(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up_slurm(tmp_path, monkeypatch, "sh")
    path = write_study(tmp_path, killing_policy(tmp_path, "pass"))
    path.write_text(f"{path.read_text()}[cluster.slurm]\n{SETTINGS}")
    try:
        end = run_command("study", path.name, "--cluster", "slurm", "--no-figures", "--out", "out", folder=tmp_path)
    finally:
        for pid in (tmp_path / "pids").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.killpg(int(pid), signal.SIGKILL)
    assert end.returncode == 0, end.stderr + (tmp_path / "job.log").read_text()
    assert (tmp_path / "out" / RESULTS).read_bytes() == whole.read_bytes()
    check_jobs(tmp_path)
