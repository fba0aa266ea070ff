"""Rewards of users whose jobs may be slowed, in a comparison."""

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import succeeds, twolevel

from bridge.compare.power import parse_rates, reward_row, rewards
from traces.base.errors import InputError

H = 3600 * 10**9
NAMES = ["eligible_ns", "start_ns", "end_ns", "cores", "allowed"]


def jobs(rows: list[tuple[int, int, int, int, int]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES) * [H, H, H, 1, 1]


def test_by_hand() -> None:
    """Job 1 runs 2 h longer on 4 cores and waits 1 h longer, job 2 waits longer and runs shorter, job 3 may not be slowed,
    job 4 gains."""
    before = jobs([(0, 0, 2, 4, 0), (0, 1, 5, 2, 0), (0, 0, 1, 8, 0), (0, 3, 9, 1, 0)])
    after = jobs([(0, 1, 5, 4, 1), (0, 4, 5, 2, 1), (0, 9, 19, 8, 0), (0, 0, 1, 1, 1)])
    both = np.arange(4), np.arange(4)
    found = rewards(parse_rates("0.5:0.25"), (before, after), both, (100.0, 80.0))
    assert found.total == Fraction(4 * 2, 2) + Fraction(4 * 1 + 2 * 3, 4)
    assert (found.jobs, found.allowed_jobs, found.saved) == (2, 3, 13.5)
    assert reward_row(found) == ("rewards", "6.50 to 2 of 3 allowed jobs; 13.50 of cost saved beyond that")
    only_run = rewards(parse_rates("0.5:0"), (before, after), both, (100.0, None))
    assert (only_run.total, only_run.jobs, only_run.saved) == (4, 1, None)
    for text in ("", "1", "1:2:3", "-1:2", "1:", "nan:1", "1e3:1", "1000001:0", "0.0000001:0", "²:1"):
        with pytest.raises(
            InputError, match=r"^--reward: .*; allowed: for a core-hour of running longer, .*, as 0.02:0.005$"
        ):
            parse_rates(text)
    nobody = rewards(parse_rates("1:1"), (before.iloc[:0], after.iloc[:0]), (both[0][:0], both[1][:0]), (None, None))
    assert (nobody.total, nobody.jobs, nobody.allowed_jobs) == (0, 0, 0)


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("limits.csv").write_text("from,to,limit_w\n1h,30h,30%\n")
    Path("signals.csv").write_text("from,price_per_kwh\n0,0.3\n")
    words = ("run", "sample", "--als", "recorded", "--select", "first:60", "--platform", "demand-response")
    limits = ("--limits", "limits.csv")
    for fallback in ("none", "dvfs"):
        succeeds(*words, "--trace", "none", *limits, "--fallback", fallback, "--out", fallback)
    costs = ("--reward", "0.02:0.005", "--signals", "signals.csv", "--pue", "1.5")
    said = succeeds("compare", "none", "dvfs", *costs, "-o", "compared")
    assert "allowed jobs; " in said.out
    written = json.loads(Path("compared/comparison.json").read_text())["power"]["rewards"]
    assert (written["run_rate"], written["wait_rate"], written["allowed_jobs"]) == (0.02, 0.005, 60)
    assert 0 <= written["jobs"] <= 60
    assert written["saved"] is not None
    succeeds(*words, "--trace", "none", "--out", "plain")
    wrong = twolevel("compare", "plain", "dvfs", "--reward", "0.02:0.005")
    assert (wrong.code, wrong.err.count("\n")) == (2, 1)
    assert "--reward: the power of one of the runs is not known" in wrong.err
