"""The tool that measures dispatches: its instances, and that it prints its tables."""

from __future__ import annotations

import pytest

from tools.cp_instances import MACHINES, drawn
from tools.cp_speed import main


@pytest.mark.parametrize("name", MACHINES)
def test_instances_are_nine_tenths_full_and_the_same_for_the_same_seed(name: str) -> None:
    first, again, other = (drawn(MACHINES[name], 30, seed) for seed in (1, 1, 2))
    cores = first.capacity[:, 0].sum()
    assert 0.89 * cores < cores - first.free[:, 0].sum() < 0.97 * cores
    assert first.running.left_s.tolist() == sorted(first.running.left_s.tolist(), reverse=True)
    assert len(first.queue) == 30
    assert first.queue.duration_s.tolist() == again.queue.duration_s.tolist() != other.queue.duration_s.tolist()
    assert first.free.tolist() == again.free.tolist() != other.free.tolist()


def test_the_tables(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--machines", "eurora", "--models", "hcp19", "pcp20", "--modelled", "12", "--seeds", "1", "--which", "all"])
    head, *rows, all_, fits = capsys.readouterr().out.splitlines()
    assert head.split()[:4] == ["machine", "model", "modelled", "which"]
    assert [row.split()[:4] for row in rows] == [["eurora", "hcp19", "12", "all"], ["eurora", "pcp20", "12", "all"]]
    assert all(len(row.split()) == len(head.split()) for row in rows)
    assert "of 10,000" in all_
    assert "of 10,000" in fits
