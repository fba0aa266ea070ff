"""The study of the demand response paper."""

from pathlib import Path

import numpy as np
import pytest
from pages import ROOT

import bridge
from bls.power.options import Power
from bridge.compare.power import indexes_of
from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools.studies.demand_response_jobs import DAY_S, experiment_2

pytestmark = pytest.mark.whole


def limited(fallback: str, share: str) -> Power:
    allowed = {} if fallback == "none" else {"allowed": share}
    return Power(limits=[(0, DAY_S * 10**9, 407_000)], fallback=fallback, **allowed)


def test_the_study_of_the_demand_response_paper(tmp_path: Path) -> None:
    """Two of its seeds and shares: its differences are the indexes of the two runs."""
    folder = ROOT / "tools" / "studies"
    text = (folder / "demand-response.toml").read_text()
    text = text.replace("seeds = 10", "seeds = 2").replace('["0", "0.25", "0.5", "0.75", "1"]', '["0.5", "1"]')
    text = text.replace('"hold", "dvfs", "submit:state=1", "stop:idle", "stop:off"', '"dvfs"')
    path = tmp_path / "study.toml"
    path.write_text(text)
    results = run_study(load_study(path, [folder]), tmp_path / "out", lambda needs: Here()).results
    rows = results.set_index(["fallback", "allowed", "seed"])
    for share, seed in (("0.5", 0), ("0.5", 1), ("1", 0), ("1", 1)):
        runs = [
            bridge.simulate(
                experiment_2(seed), "demand-response", als="recorded", power=limited(fallback, share), seed=seed
            )
            for fallback in ("none", "dvfs")
        ]
        places = np.arange(len(runs[0].jobs))
        records = [run.power.record() for run in runs if run.power is not None]
        one = indexes_of(
            (runs[0].jobs, runs[1].jobs),
            (places, places),
            (records[0], records[1]),
            (runs[0].power_over_time, runs[1].power_over_time),
        )
        base, slowed = rows.loc["none", share, seed], rows.loc["dvfs", share, seed]
        for name in ("wait", "run"):
            indexes = getattr(one, name)
            for group in ("all", "allowed", "disallowed"):
                column = f"mean_{name}_{group}_ns".replace("_all_", "_")
                if indexes[group].mean_ns is None:
                    assert np.isnan(slowed[column])
                else:
                    assert slowed[column] - base[column] == pytest.approx(indexes[group].mean_ns, abs=10)
        less = base.mean_power_in_limits_w - slowed.mean_power_in_limits_w
        assert less == pytest.approx(one.power_reduction_w, rel=1e-9)
