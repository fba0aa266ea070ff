"""Published tables of jobs, read with the maps of the project."""

from pathlib import Path

import numpy as np

from bls.workloads import format_of, read_workload
from bls.workloads.readers.tables.reader import read_table, table_blocks
from bls.workloads.writers.table import write_table
from traces.base.time import NS_PER_S


def test_the_gpu_trace_of_alibaba(shared: Path, tmp_path: Path) -> None:
    path = shared / "traces" / "alibaba-gpu-2023-tasks.csv.gz"
    assert format_of(path) == "table"
    found = read_workload(path)
    # 8,152 tasks; 897 were still pending.
    assert (found.n_lines, len(found), found.rejects["no run time"]) == (8152, 7255, 897)
    assert sum(found.rejects.values()) == 897
    shares = found.extras["gpu_milli"][found.extras["gpus"] == 1]
    assert (int(found.extras["gpus"].max()), int(shares.min()), int(shares.max())) == (8, 50, 1000)
    first = np.flatnonzero(np.array([found.ids[job] == "openb-pod-0001" for job in found.job_id.tolist()]))[0]
    assert found.submit_ns[first] == 427_061 * NS_PER_S
    assert found.run_ns[first] == (12_902_960 - 427_061) * NS_PER_S
    assert (found.cores[first], found.memory_kb[first]) == (6, 12_288 * 1024 // 6)
    write_table(found, tmp_path / "t.parquet")
    again = read_table(tmp_path / "t.parquet")
    for name in ("job_id", "submit_ns", "run_ns", "cores", "memory_kb", "status", "wait_ns", "qos"):
        assert np.array_equal(getattr(again, name), getattr(found, name)), name
    assert (again.ids, again.header) == (found.ids, found.header)
    assert {name: column.tolist() for name, column in again.extras.items()} == {
        name: column.tolist() for name, column in found.extras.items()
    }
    blocks = list(table_blocks(path))
    assert sum(map(len, blocks)) == len(found)
    assert np.array_equal(np.concatenate([one.run_ns for one in blocks]), found.run_ns)
