"""The reader of Batsim's workloads: every job is a job or one counted reject."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bls.workloads import read_workload
from bls.workloads.readers import batsim
from bls.workloads.readers.batsim import read_batsim
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9
Read = Callable[..., Workload]
PROFILES: dict[str, Any] = json.loads(Path(__file__).with_name("tables").joinpath("batsim_profiles.json").read_text())


BAD_IDS: tuple[Any, ...] = (None, True, 1.5, [], "")
BAD_PROFILES: tuple[Any, ...] = (None, 1.5, [], "list", "bad", "never", "endless", "typeless")


def job(number: Any, profile: Any = "short", **changes: Any) -> dict[str, Any]:
    return {"id": number, "subtime": 10, "walltime": 100, "res": 4, "profile": profile} | changes


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def of(*jobs: Any, **more: Any) -> Workload:
        (tmp_path / "w.json").write_text(json.dumps({"nb_res": 8, "jobs": jobs, "profiles": PROFILES, **more}))
        return read_batsim(tmp_path / "w.json")

    return of


def rejects(workload: Workload) -> dict[str, int]:
    return {reason: count for reason, count in workload.rejects.items() if count}


def test_a_workload_drawn_by_hand(read: Read) -> None:
    found = read(
        job(3, "short", subtime=10.1, user="ann"),
        job("1", "chain", subtime=5, walltime=-1, res=1),
        job("w0!2", "new", walltime=2.5, user=7),
        job(9, "chains", user="ann"),
        {"id": 10, "subtime": 0, "res": 2, "profile": 5},  # no walltime; a profile named by a number, as of old
        description="two\nlines",
    )
    columns = (found.submit_ns / NS, found.run_ns / NS, found.estimate_ns / NS, found.cores, found.user, found.line)
    rows = zip(found.job_id.tolist(), *(column.tolist() for column in columns), strict=True)
    assert list(rows) == [
        (10, 0, 1, 1, 2, -1, 5),
        (1, 5, 174, 174, 1, -1, 2),
        (2, 10, 3, 2.5, 4, 2, 3),
        (9, 10, 354, 100, 4, 1, 4),
        (3, 10.1, 20.25, 100, 4, 1, 1),
    ]
    assert found.header == ("; MaxProcs: 8", "; Note: two lines")
    assert rejects(found) == {}


def test_seconds_are_exact(tmp_path: Path) -> None:
    text = json.dumps({"jobs": [job(1, subtime="S"), job(2, subtime="T")], "profiles": PROFILES})
    data = text.replace('"S"', "16777217.0000000015").replace('"T"', "1.1e-7").encode()
    # It is told by the ending or the first character.
    for name in ("a.json", "a.json.gz", "a.txt", "a.workload.gz"):
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else b"\n" * (name == "a.txt") + data)
        assert read_workload(tmp_path / name).submit_ns.tolist() == [110, 16777217000000002]


def test_each_reject_is_counted_under_the_first_reason_that_applies(read: Read) -> None:
    found = read(
        job(1),
        *(job(2, subtime=bad) for bad in (-1, "0", None, True, 10**19, float("inf"), float("nan"))),
        *(job(2, res=bad) for bad in (-1, 1.5, "4", True, 2**63)),
        *(job(2, walltime=bad) for bad in (0, -2, "1", True, False)),
        *(job(bad) for bad in BAD_IDS),
        *(job(2, bad) for bad in BAD_PROFILES),
        *("job", None, 5, [], {}),
        *(job(2, unknown) for unknown in ("nowhere", "torn", "ptask", "ring", "gnir")),
        *(job(2, "none", res=0), job(2, "new", res=0), job(1, "new"), job(2, "seen")),
    )
    counts = {"malformed": 35, "unknown profile": 2, "run time not known": 3, "no run time": 1, "no processors": 1}
    assert rejects(found) == counts | {"duplicate job number": 1}
    assert found.n_lines == len(found) + sum(found.rejects.values())
    assert (found.job_id.tolist(), found.run_ns.tolist()) == ([1, 2], [20_250_000_000, 7_500_000_000])
    found = read(job("a!7"), job("a!3"), job("a!3", subtime=1), job("a!4", res=0), job("a!5", "nowhere"))
    assert (found.job_id.tolist(), dict(found.ids)) == ([7, 3], {7: "a!7", 3: "a!3"})
    assert [(one.reason, one.place) for one in found.rejected] == [
        ("no processors", "line 4: res, '0'"),
        ("unknown profile", "line 5: profile, 'nowhere'"),
        ("duplicate job number", "line 3: job number, '3'"),
    ]


def test_files_that_are_none(tmp_path: Path) -> None:
    deep = {"type": "composed", "seq": ["d1"]}
    chain = {f"d{k}": {"type": "composed", "seq": [f"d{k + 1}"]} for k in range(1, 300)}
    for text, message in (
        (b"", "the file is empty"),
        (b"{", "not valid JSON: Expecting property name"),
        (b'{"jobs": [\xff]}', "not valid JSON: byte 10 is not UTF-8"),
        (b"[" * 100_000, "not usable JSON: nested too deeply"),
        (b'{"jobs": [' + b"9" * 5000 + b"]}", "not usable JSON: a number of thousands of digits"),
        (b'{"jobs": [1e99999999999999999999]}', "a number is beyond any range"),
        (b"[1]", "not a workload of Batsim: a list, no object with jobs and profiles"),
        (b"{}", "jobs is missing; it must be a list"),
        (b'{"jobs": {}}', "jobs is a dict; it must be a list"),
        (b'{"jobs": [], "profiles": []}', "profiles is a list; it must be an object"),
        (b'{"jobs": [], "profiles": {}}', "no valid job in 0 lines"),
        (b'{"jobs": [{}], "profiles": {}}', "no valid job in 1 line: malformed 1"),
        (json.dumps({"jobs": [job(1, "d0")], "profiles": {"d0": deep, **chain}}).encode(), "more than 100 sequences"),
    ):
        (tmp_path / "a.json").write_bytes(text)
        with pytest.raises(InputError, match=message) as caught:
            read_batsim(tmp_path / "a.json")
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path}")
        assert len(str(caught.value)) < 400


def test_more_text_than_json_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batsim, "MAX_TEXT_BYTES", 1 << 21)
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b"[" * (1 << 30 >> 8)))
    with pytest.raises(InputError, match=r"bomb\.json\.gz: more than 2,097,152 bytes of JSON; allowed: up to as many"):
        read_batsim(path)


@pytest.mark.parametrize(
    ("ids", "numbers", "kept"),
    [
        (["a!7", "a!3", "b!4"], [7, 3, 4], {7: "a!7", 3: "a!3", 4: "b!4"}),
        (["a!7", "b!7"], [1, 2], {1: "a!7", 2: "b!7"}),
        (["7", "3"], [7, 3], {}),
        ([7, 3], [7, 3], {}),
        (["0", 2**62], [0, 2**62], {}),
        # If one name is no number, all are numbered by their first appearance.
        *(([50, name, "60"], [1, 2, 3], {1: "50", 2: name, 3: "60"}) for name in ("a", "07", "-1", "1.0", "²")),
        *(([50, name, "60"], [1, 2, 3], {1: "50", 2: name, 3: "60"}) for name in (str(2**62 + 1), "9" * 30)),
    ],
)
def test_ids_that_say_more_than_the_number_are_kept(
    read: Read, ids: list[int | str], numbers: list[int], kept: dict[int, str]
) -> None:
    found = read(*(job(name, subtime=k) for k, name in enumerate(ids)), job(ids[0], subtime=9), job(None))
    assert (found.job_id.tolist(), dict(found.ids)) == (numbers, kept)
    assert [found.job_name(row) for row in range(len(found))] == [kept.get(number) for number in numbers]
    assert rejects(found) == {"malformed": 1, "duplicate job number": 1}
