"""A plain run loads what it needs, and nothing else: to load a library takes longer than to simulate a day of 256 cores."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

#: What tables, figures, graphs of files, studies, processes and terminals are for.
ELSEWHERE = (
    *("_otf2", "asyncio", "dask", "distributed", "matplotlib", "multiprocessing", "networkx", "otf2", "pandas"),
    *("pyarrow.compute", "pyarrow.dataset", "pydantic", "rich", "scipy", "sqlite3", "xml", "als.graphs.readers"),
    *("bls.workloads.generators", "bridge.workers.application_peer", "bridge.report", "bridge.runs.figures"),
    *("bridge.runs.page", "bridge.workers.credentials", "bridge.workers.hosts", "bridge.workers.supervisor"),
    *("bridge.protocol.messages", "bridge.protocol.session", "bridge.studies", "traces.exporters.otf2"),
    *("traces.figures", "traces.statistics", "traces.timeline"),
)

MAIN = "from bridge.cli import main\ntry:\n    main()\nexcept SystemExit as end:\n    assert not end.code, end.code"
LISTED = f"import json; print(json.dumps([name for name in {ELSEWHERE!r} if name in sys.modules]))"


def loaded(code: str, folder: Path) -> object:
    """Which modules of ``ELSEWHERE`` a process of its own has loaded once it has run this code."""
    command = [sys.executable, "-c", f"import sys\n{code}\n{LISTED}"]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, cwd=folder)
    return json.loads(ran.stdout.splitlines()[-1])


def test_the_library_loads_what_it_needs(tmp_path: Path) -> None:
    code = "import bridge, bls; print(bridge.simulate(bls.sample_path(), select='first:3').metrics['makespan_ns'])"
    assert loaded(code, tmp_path) == []


def test_the_command_run_loads_what_it_needs(tmp_path: Path) -> None:
    run = ["twolevel", "run", "sample", "--select", "first:3", "--no-trace", "--out", "r"]
    run += ["--als", "gss", "--variation", "0.25", "--seed", "1", "--overhead", "1us"]
    code = f"sys.argv = {run!r}\n{MAIN}"
    assert loaded(code, tmp_path) == []
    assert (tmp_path / "r" / "jobs.parquet").is_file()


def test_a_command_loads_no_other_one(tmp_path: Path) -> None:
    others = "print([name for name in sys.modules if name.startswith('bridge.cli.') and name.endswith('commands')])"
    code = f"import sys\nsys.argv = ['twolevel', 'run', '--help']\n{MAIN}\n{others}"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stdout.splitlines()[-1] == "['bridge.cli.run_commands']"
