"""Every schedule of ``schedules/*.toml``, drawn by hand, is the one that is simulated."""

from __future__ import annotations

from pathlib import Path

import pytest
from drawn_schedules import DrawnSchedule, drawn_schedules


@pytest.mark.parametrize("case", drawn_schedules(Path(__file__).with_name("schedules")))
def test_a_schedule_drawn_by_hand(case: DrawnSchedule, tmp_path: Path) -> None:
    case.check(tmp_path)
