"""The benchmark's case of a log that is not held: millions of jobs, read, simulated and written in little memory."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

from tools.bench_batch import CURIES_OWN
from tools.bench_rows import CURIE, Row, command, log, row

__all__ = ["long_log"]

#: CEA-Curie so many times in a row is 5.6 million jobs.
TIMES = 19


def _write_repeated(source: Path, path: Path, times: int) -> None:
    # Line by line, each repetition beginning at the last submit of the one before.
    first_id = first_s = 0
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(times):
            number = submit_s = 0
            with gzip.open(source) as lines:
                for line in lines:
                    if line.startswith(b";") or not line.strip():
                        continue
                    fields = line.split(None, 2)
                    number, submit_s = first_id + int(fields[0]), first_s + int(fields[1])
                    file.write(b"%d %d %s" % (number, submit_s, fields[2]))
            first_id, first_s = number, submit_s


def long_log() -> list[Row]:
    """CEA-Curie 19 times in a row on its own cores, EASY, recorded run times, whole command."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write_repeated(log(CURIE), folder / "long.swf.gz", TIMES)
        (folder / "curie.toml").write_text(CURIES_OWN.to_toml(), encoding="utf-8")
        words = (
            "run",
            "long.swf.gz",
            "--platform",
            "curie.toml",
            "--backfill",
            "easy",
            "--als",
            "recorded",
            "--no-trace",
        )
        command("run", "sample", *words[-3:], "--stream", "--out", "first", folder=folder)  # kernels are compiled
        took, mib = command(*words, "--stream", "--out", "r", folder=folder)
        record = json.loads((folder / "r" / "run.json").read_text(encoding="utf-8"))
    assert record["workload"]["jobs"] == record["metrics"]["state_completed"] == TIMES * 295_540
    note = f"whole command; {mib:.0f} MiB"
    return [row("5.6 M jobs (CEA-Curie 19 times), easy, --stream", "≤ 300 MiB", [took], note=note, memory_mib=mib)]
