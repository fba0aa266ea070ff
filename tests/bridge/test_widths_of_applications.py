"""Both levels where the widths of running jobs change: each against its slow reference, and the reference of both at once."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tables import table_rows

import bridge
from bls import HostGroup, Platform, Rules, Workload
from bls.constraints.options import ConstraintOptions
from bridge.compare.delay_causes import CAUSES, StartedJobs, find_causes
from bridge.scenarios.scenario import Application
from traces.base.errors import InputError
from traces.checks.ledger import check_ledger

pytestmark = pytest.mark.whole

Rows = list[tuple[int, int, int, int, int]]


def malleable(rows: Rows, widths: str, folder: Path, requests: str = "", **options: Any) -> bridge.Result:
    """Jobs of tasks of one second on four cores, checked."""
    (folder / "widths.csv").write_text("job_id,min_cores,max_cores\n" + widths)
    (folder / "requests.csv").write_text(requests)
    constraints = ConstraintOptions(
        malleable=folder / "widths.csv", requests=folder / "requests.csv" if requests else None
    )
    options = {"platform": Platform((HostGroup(1, 4, 4.0),)), "als": "ss", "constraints": constraints} | options
    found = bridge.simulate(Workload.from_jobs(rows), resize=options.pop("resize"), **options)
    check_ledger(found.ledger)
    return found


S = 10**9


def told(found: bridge.Result) -> list[list[int]]:
    """Which job got (1), was asked for (-1) or wished for (0) which core, or how many, and when."""
    return found.widths[["job_id", "command_ns", "core", "change"]].to_numpy().tolist()  # type: ignore[no-any-return]


PAIR = [(1, 0, 4, 2, 4), (2, 1, 1, 1, 1)]


def test_a_core_comes_with_its_amounts(tmp_path: Path) -> None:
    """Job 1 has two of three GPUs for its two cores, and is given one core more, as there is one GPU more."""
    machine = {"platform": Platform((HostGroup(1, 4, 4.0, resources={"gpu": 3}),)), "requests": "job_id,gpu\n1,1\n"}
    found = malleable(PAIR, "1,1,4\n", tmp_path, resize="expand", tasks_per_core=4, **machine)
    assert told(found) == [[1, S, 3, 1]]


def evolving(rows: Rows, phases: str, folder: Path, **options: Any) -> bridge.Result:
    """As :func:`malleable`; jobs of two cores have these phases, and job 1 evolves, and may have one to four cores."""
    text = f'[[application]]\nname = "evolving"\nmatch = {{ cores = 2 }}\nphases = [{phases}]\n'
    (folder / "apps.toml").write_text(text)
    level = Application(applications=folder / "apps.toml")
    return malleable(
        rows, "1,1,4\n", folder, **{"resize": "evolve", "tasks_per_core": 1, "application": level} | options
    )


PHASES = (
    '{ kind = "loop", als = "static", tasks = 4, cores = 2 }, { kind = "loop", als = "static", tasks = 4, cores = 0.5 }'
)


@pytest.mark.parametrize(("resize", "cause"), [("shrink", "asked"), ("evolve", "wished")])
def test_why_a_job_starts_on_cores_of_another(resize: str, cause: str, tmp_path: Path) -> None:
    rows = [(1, 0, 4, 2, 4), (2, 1, 1, 3, 1)]
    changed, rigid = (evolving(rows, PHASES, tmp_path, resize=one) for one in (resize, "none"))
    each = np.arange(2)
    late = StartedJobs.of(changed.jobs, changed.ledger.events)
    causes = find_causes(late, StartedJobs.of(rigid.jobs), each, each)
    assert [CAUSES[kind] for kind in causes.kind] == ["submit", cause]
    assert causes.job_id.tolist() == [-1, 1]
    story = changed.story(1)
    assert ("as it was asked to" if cause == "asked" else "as it requested fewer") in story


def test_wishes_of_running_jobs_go_before_a_head_that_does_not_fit(tmp_path: Path) -> None:
    """Job 2 came first, and needs all cores; the free ones go to job 1 all the same."""
    phases = (
        '{ kind = "loop", als = "ss", tasks = 4, cores = 1.0 }, { kind = "loop", als = "ss", tasks = 4, cores = 2.0 }'
    )
    found = evolving([(1, 0, 4, 2, 4), (2, 1, 1, 4, 1)], phases, tmp_path)
    assert told(found) == [[1, 2 * S, 4, 0], [1, 2 * S, 2, 1], [1, 2 * S, 3, 1]]
    assert found.jobs.end_ns.tolist()[0] == 3 * S + 1
    story = found.story(1)
    assert "requested 4 cores" in story
    assert "given cores 2 3" in story


@pytest.mark.parametrize(("malleable", "said", "words"), table_rows(__file__, "what_cannot_be"))
def test_what_cannot_be(malleable: str | None, said: dict[str, Any], words: str) -> None:
    workload = Workload.from_jobs([(1, 0, 4, 2, 4), (2, 1, 4, 2, 4)])
    options = said | {"rules": Rules(**{"resize": "equal"} | said.get("rules", {}))}
    with pytest.raises(InputError, match=re.escape(words)):
        bridge.simulate(workload, malleable=malleable, **options)


@pytest.mark.parametrize(("text", "words"), table_rows(__file__, "a_file_of_widths_is_checked"))
def test_a_file_of_widths_is_checked(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(words)):
        malleable([(1, 0, 4, 2, 4)], text, tmp_path, resize="expand", tasks_per_core=4)
