"""The matrix of small runs and its digests: it has everything, and differences are named."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from als.techniques import TECHNIQUES
from tools.digest_cases import all_cases
from tools.digest_coverage import uncovered
from tools.digests import differences, digests_of, read_digests, write_digests


def test_the_matrix_has_every_entry_of_every_registry(monkeypatch):
    cases = all_cases()
    assert uncovered(cases) == []
    assert "als.techniques:TECHNIQUES tap" in uncovered([case for case in cases if "tap" not in str(case.given)])
    monkeypatch.setitem(TECHNIQUES, "novel", replace(TECHNIQUES["ss"], name="novel"))
    assert uncovered(cases) == ["als.techniques:TECHNIQUES novel"]


def test_cases_and_digests_have_the_same_names():
    commit, digests = read_digests(Path(__file__).parents[1] / "digests.json")
    names = [case.name for case in all_cases()]
    assert commit
    assert list(digests) == names
    assert len(set(names)) == len(names) > 300


def test_differences_are_told_by_case_table_and_column(tmp_path):
    jobs = {"start_ns": np.arange(3), "cores": np.ones(3)}
    before = {"a": digests_of({"jobs": jobs}), "b": digests_of({"jobs": jobs, "tasks": {"core": [1]}}), "c": {}}
    write_digests(before, "abc", tmp_path / "digests.json")
    assert read_digests(tmp_path / "digests.json") == ("abc", before)
    later = digests_of({"jobs": {**jobs, "start_ns": np.arange(1, 4)}})
    after = {"a": later, "b": {"raised": {"InputError: no": ""}}, "d": {}}
    assert list(differences(before, before)) == []
    assert list(differences(before, after)) == [
        "a: jobs: start_ns",
        "b: jobs: no more",
        "b: tasks: no more",
        "b: raised: InputError: no",
        "c: no more",
        "d: only now",
    ]
