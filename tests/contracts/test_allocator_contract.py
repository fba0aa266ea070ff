"""The contract of allocators: these tests run over the registry, so its entry there tests a new allocator."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from placing import Question, questions, suggestion
from scenarios import Case, cases, cores_text, done

from bls.allocators import ALLOCATORS, allocator


@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_is_found_under_its_own_name(name: str) -> None:
    assert allocator(name).name == name == name.lower()


@settings(max_examples=150, deadline=None)
@given(question=questions())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_it_suggests_offered_cores_in_whole_units_or_nothing(name: str, question: Question) -> None:
    """``suggestion`` checks the form of the answer, and that everything else is only looked at."""
    job, rule = question.job, ALLOCATORS[name]
    cores = suggestion(rule, question)
    assert suggestion(rule, question) == cores, "the same answer to the same question"
    if cores is None:
        return
    if rule.whole_hosts:
        assert cores <= question.free
        assert all(
            share in (0, host.cores) for share, host in zip(question.shares(cores), question.machine.hosts, strict=True)
        )
        assert len(cores) >= job.cores
    else:
        assert cores <= question.offered
        assert len(cores) == job.cores
        assert all(share % job.unit_cores == 0 for share in question.shares(cores))


@settings(max_examples=150, deadline=None)
@given(question=questions())
@pytest.mark.parametrize("name", [name for name, rule in ALLOCATORS.items() if rule.countable])
def test_one_that_counts_places_whatever_there_are_enough_cores_for(name: str, question: Question) -> None:
    job = replace(question.job, unit_cores=1, limit=0)
    cores = suggestion(ALLOCATORS[name], replace(question, job=job))
    assert (cores is not None) == (len(question.offered) >= job.cores)


@settings(max_examples=40)
@given(case=cases(recorded=True, max_jobs=12), data=st.data())
@pytest.mark.parametrize("name", ALLOCATORS)
def test_with_it_every_job_runs_and_the_records_are_sound(name: str, case: Case, data: st.DataObject) -> None:
    machine = range(len(case.core_speeds))
    jobs = tuple(replace(job, wanted=frozenset(data.draw(st.permutations(machine))[: job.cores])) for job in case.jobs)
    requested = {job.number: cores_text(job.wanted) for job in jobs if job.wanted}
    result = case.simulated(allocator=name, requested=requested)  # with check_ledger
    assert [job.end - job.start for job in done(result)] == result.scenario.workload.run_ns.tolist()
