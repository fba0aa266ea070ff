"""What gives tasks to cores, by its name."""

from __future__ import annotations

import pytest

from als.planners import PLANNERS
from als.planners.mapped import MAPPED
from als.schedulers import loop_technique, scheduler, scheduler_name
from als.techniques import TECHNIQUES
from traces.base.errors import InputError


@pytest.mark.parametrize("name", [*TECHNIQUES, *PLANNERS, "mapped"])
def test_a_name_and_what_has_it(name: str) -> None:
    found = scheduler(name)
    assert found.name == (TECHNIQUES[name].name if name in TECHNIQUES else name)
    assert scheduler(scheduler_name(found) or "") is found


@pytest.mark.parametrize("name", ["mapped:x=1", "heft:x=1", "min-min:cov=1"])
def test_planners_have_no_parameters(name: str) -> None:
    plain = name.partition(":")[0]
    with pytest.raises(InputError, match=rf"^als: '{name}'; allowed: {plain}, which has no parameters$"):
        scheduler(name, where="als")


@pytest.mark.parametrize("name", ["mapped", "heft"])
def test_loops_have_techniques_only(name: str) -> None:
    with pytest.raises(InputError, match=rf"^--als: {name} is for graphs"):
        loop_technique(name)
    assert loop_technique("gss") is TECHNIQUES["gss"]
    assert loop_technique("select:gss,fac").name.startswith("select")


def test_who_is_not_found_hears_of_all() -> None:
    with pytest.raises(InputError, match=r"^--als: unknown application technique 'heftt'; known: heft, .*mapped"):
        scheduler("heftt")
    assert scheduler_name(MAPPED) == "mapped"
