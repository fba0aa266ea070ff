"""The study's file of the demand response paper, and the tool beside it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pages import ROOT

from bridge.studies.executors.local import Here
from bridge.studies.input.study_file import load_study
from bridge.studies.run_study import run_study
from tools import demand_response, demand_response_applications


def test_the_study_of_the_demand_response_paper(tmp_path: Path) -> None:
    """Two of its seeds and shares: its differences are the indexes that the tool finds."""
    folder = ROOT / "tools" / "studies"
    text = (folder / "demand-response.toml").read_text()
    text = text.replace("seeds = 10", "seeds = 2").replace('["0", "0.25", "0.5", "0.75", "1"]', '["0.5", "1"]')
    text = text.replace('"hold", "dvfs", "submit:state=1", "stop:idle", "stop:off"', '"dvfs"')
    path = tmp_path / "study.toml"
    path.write_text(text)
    results = run_study(load_study(path, [folder]), tmp_path / "out", lambda needs: Here()).results
    found = demand_response.experiment((0.5, 1.0), seeds=2)
    rows = results.set_index(["fallback", "allowed", "seed"])
    for share, each in found.items():
        for seed, one in enumerate(each):
            base, slowed = rows.loc["none", f"{share:g}", seed], rows.loc["dvfs", f"{share:g}", seed]
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


def test_what_jobs_compute_decides_where_nodes_are_slowed_unevenly() -> None:
    """One seed: where all nodes are alike, jobs run longer by as much, and wait less the better they are balanced. Where they
    are not, nobody gains by allowing that static loops are slowed, and all do by fac's."""
    kinds, shares = ("static", "fac"), (0.0, 0.5)
    found = {
        name: demand_response_applications.experiment(make(), kinds, shares, seeds=1)
        for name, make in demand_response_applications.MACHINES.items()
    }

    def longer(machine: str, kind: str, share: float, what: str) -> float:
        mean_ns = getattr(found[machine][kind].by_share[share][0], what)["all"].mean_ns
        assert mean_ns is not None
        return float(mean_ns) / 1e9

    alike, other = found
    assert longer(alike, "static", 0.5, "run") == pytest.approx(longer(alike, "fac", 0.5, "run"), abs=5)
    assert (
        longer(alike, "fac", 0.5, "wait") < longer(alike, "static", 0.5, "wait") < longer(alike, "static", 0.0, "wait")
    )
    assert longer(other, "fac", 0.5, "wait") < longer(other, "fac", 0.0, "wait")
    assert longer(other, "static", 0.5, "wait") > longer(other, "static", 0.0, "wait")
    assert longer(other, "static", 0.5, "run") > longer(other, "fac", 0.5, "run") + 50
    table = list(demand_response_applications.index_table(found[other], "run longer, s"))
    assert table[0] == "| run longer, s | 0% | 50% |"
    assert table[2].startswith("| `static` | 0 | 4")
    assert list(demand_response_applications.difference_table(found[other], "static"))[2].startswith("| `fac` | −")
    assert len(list(demand_response_applications.without_table(found[other]))) == 4
