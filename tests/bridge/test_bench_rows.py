"""When the benchmark has failed: a figure that must be reached is missed by more than half."""

from __future__ import annotations

import pytest

from tools.bench_rows import page, row, slowness


@pytest.mark.parametrize(
    ("must", "figure", "far_off"),
    [
        ("≤ 15 s", 22.0, False),
        ("≤ 15 s", 23.0, True),
        ("≥ 300,000 chunks/s", 201_000.0, False),
        ("≥ 300,000 chunks/s", 199_000.0, True),
        ("≤ 30 s, ≤ 2 MiB", 1.0, True),
        ("≤ 30 s, ≤ 4 MiB", 1.0, False),
        ("linear in jobs", 1e9, False),
        ("", 1e9, False),
    ],
)
def test_a_row_is_far_off(must: str, figure: float, far_off: bool) -> None:
    assert row("case", must, [figure], memory_mib=5.0).far_off == far_off


@pytest.mark.parametrize(
    ("must", "figure", "far_off"),
    [
        ("≤ 15 s", 44.0, False),
        ("≤ 15 s", 46.0, True),
        ("≥ 5 M/s", 1.7, False),
        ("≥ 5 M/s", 1.6, True),
        ("≤ 9 s, ≤ 3 MiB", 1.0, True),
    ],
)
def test_bounds_of_times_are_those_of_a_machine_as_quick(must: str, figure: float, far_off: bool) -> None:
    one = row("case", must, [figure], memory_mib=5.0)
    one.slowness = 2.0
    assert one.far_off == far_off
    assert slowness() >= 1


def test_the_page_says_when_and_where_and_has_each_row() -> None:
    text = page([row("a case", "≤ 2 s", [1.0, 3.0, 2.0], note="why")], "2026-01-02, 2 × Some Processor")
    assert text.startswith("Measured 2026-01-02, 2 × Some Processor.")
    assert text.splitlines()[-1] == "| a case | 2 s | ≤ 2 s | 1.00 | 1 … 3 | 3 | why |"
