"""Reservations and maintenance: what a file says, what the engine sees, and windows that cannot be."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import table_rows

from bls.constraints.advance_reservations import Window, load_windows, parse_windows, windows
from bls.machine.platform import HostGroup, Platform
from bls.workloads.workload import Workload
from traces.base.errors import InputError

NS = 10**9
MACHINE = Platform((HostGroup(3, 4, 4.0), HostGroup(1, 2, 2.0)))

TEXT = Path(__file__).with_name("tables").joinpath("three_windows.toml").read_text("utf-8")


def workload(*jobs: tuple[int, int, int, int]) -> Workload:
    """Jobs (number, submit, cores, estimate)."""
    return Workload.from_jobs([(job, submit, 1, cores, estimate) for job, submit, cores, estimate in jobs])


JOBS = ((1, 0, 2, 1800), (17, 0, 7, 3600), (20, 3000, 7, 100), (21, 7100, 1, 100), (22, 0, 9, 9))


def test_what_the_engine_sees(tmp_path: Path) -> None:
    path = tmp_path / "w.toml"
    path.write_text(TEXT, encoding="utf-8-sig")
    found = load_windows(path, MACHINE)
    assert [str(window) for window in found.windows] == [
        "reservation 'early'",
        "reservation 'course'",
        "maintenance 'cooling'",
    ]
    assert found.begin_ns.tolist() == [0, 3600 * NS, 7200 * NS]
    assert found.end_ns.tolist() == [1800 * NS, 7200 * NS, 86400 * NS]
    assert found.is_reservation.tolist() == [1, 1, 0]
    assert found.core_first.tolist() == [0, 1, 3, 5]
    assert list(zip(found.core_lo.tolist(), found.core_hi.tolist(), strict=True)) == [
        (12, 14), (0, 6), (8, 9), (0, 4), (8, 14),
    ]  # fmt: skip
    assert found.host_first.tolist() == [0, 0, 0, 2]
    assert (found.host_lo.tolist(), found.host_hi.tolist()) == ([0, 2], [1, 4])
    assert found.of_jobs(workload(*JOBS)).tolist() == [0, 1, -1, 1, 1]  # rows are in the order of submits
    with pytest.raises(ValueError, match="read-only"):
        found.begin_ns[0] = 1


def test_a_maintenance_comes_before_a_reservation_that_begins_with_it() -> None:
    given_ones = [Window("reservation", "r", 5, 6, cores="0", jobs="1"), Window("maintenance", "m", 5, 6, hosts="1")]
    assert [window.name for window in windows(given_ones, MACHINE).windows] == ["m", "r"]


def changed(old: str, new: str) -> str:
    assert old in TEXT
    return TEXT.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *table_rows(__file__, "refused_with_the_key_s_path"),
        (
            changed('"0,2-3"', '"1,3"').replace('"2h"', '"0.2h"'),
            "reservation 'early' and maintenance 'cooling' both have core 12 at",
        ),
        ("x = " + "[" * 5000, "not usable TOML: "),
    ],
)
def test_refused_with_the_key_s_path(text: str | list[str], message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_windows(changed(*text) if isinstance(text, list) else text, MACHINE, "my.toml")
    assert str(caught.value).startswith(f"my.toml: {message}")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("job", "message"),
    [
        ((99, 0, 1, 1), "reservation 'course': job 17 is not in jobs, or not simulated"),
        ((17, 0, 8, 3600), "reservation 'course': job 17 asks for 8 cores; the reservation has 7"),
        ((17, 0, 7, 3601), "job 17 is estimated to run 60 min 01 s; the reservation lasts 60 min 00 s"),
        ((17, 7000, 7, 201), "job 17, submitted at 116 min 40 s with an estimate of 201 s|cannot end before 2 h"),
    ],
)
def test_jobs_that_their_reservation_has_no_room_for(job: tuple[int, int, int, int], message: str) -> None:
    jobs = [job if other[0] == 17 else other for other in JOBS]
    with pytest.raises(InputError, match=message):
        parse_windows(TEXT, MACHINE).of_jobs(workload(*jobs))


def test_a_job_is_in_one_reservation() -> None:
    found = parse_windows(
        changed('jobs = "1"', 'jobs = "17"').replace('"3"', '"1-2"').replace('"0.5h"', '"1h"'), MACHINE
    )
    with pytest.raises(InputError, match="job 17 is in two reservations: reservation 'early' and reservation 'course'"):
        found.of_jobs(workload(*JOBS))


def test_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.toml: no such file"):
        load_windows(tmp_path / "none.toml", MACHINE)
    (tmp_path / "x").write_bytes(b"\xff")
    with pytest.raises(InputError, match="x: not valid TOML: byte 0 is not UTF-8"):
        load_windows(tmp_path / "x", MACHINE)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5), st.sets(st.integers(0, 5), min_size=1)), max_size=5))
def test_sharing_is_found_wherever_it_is(cases: list[tuple[int, int, set[int]]]) -> None:
    given_ones = [
        Window("reservation", f"w{k}", begin, begin + length, cores=" ".join(map(str, sorted(cores))), jobs="1")
        for k, (begin, length, cores) in enumerate(cases)
    ]
    shared = [
        (a.name, b.name)
        for k, a in enumerate(given_ones)
        for j, b in enumerate(given_ones[:k])
        if a.begin_ns < b.end_ns and b.begin_ns < a.end_ns and cases[k][2] & cases[j][2]
    ]
    if not shared:
        assert len(windows(given_ones, MACHINE)) == len(cases)
        return
    with pytest.raises(InputError, match="both have core") as caught:
        windows(given_ones, MACHINE)
    assert any(f"'{a}'" in str(caught.value) and f"'{b}'" in str(caught.value) for a, b in shared)
