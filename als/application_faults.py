"""Errors for an application that cannot continue."""

from __future__ import annotations

from typing import TYPE_CHECKING

from als.engine import state as s
from als.engine.codes import ApplicationStatus
from als.engine.rule_table import RuleRows
from als.planners.contract import MAPPED
from traces.base.errors import InputError, PluginError
from traces.base.time import MAX_NS

if TYPE_CHECKING:
    from als.application import ApplicationSimulator


def application_fault(status: int, state: s.ApplicationState, rules: RuleRows, job: str = "") -> BaseException:
    """Return the error for a fault of the application engine; ``job`` as ``"job 17: "`` if known."""
    row = int(state.rule)
    name, answer, left = rules.names[row], int(state.answer), int(state.n_left)
    if status == ApplicationStatus.ANSWER_OUT_OF_RANGE:
        raised = rules.error(row)
        if isinstance(raised, PluginError):
            return PluginError(f"{job}{raised}")
        if raised is not None:
            return raised
        return PluginError(
            f"{job}application technique {name} gave a chunk of {answer}; allowed: 0 to the remaining tasks, {left}"
        )
    if status == ApplicationStatus.PLACE_TAKEN:
        return PluginError(
            f"{job}application technique {name} chose task {answer}; allowed: unassigned tasks of the loop"
        )
    if status == ApplicationStatus.BAD_PLAN:
        return PluginError(
            f"{job}planner {name} gave task {answer} no core, or no start; allowed: a core that is there, and a start from 0 on"
        )
    if status == ApplicationStatus.STUCK:
        if name == MAPPED.name:
            return InputError(
                f"{job}mapped: the order of the cores' tasks contradicts the edges, with {left} tasks left"
            )
        return PluginError(f"{job}planner {name} made sequences that wait for each other, with {left} tasks left")
    if status == ApplicationStatus.TASKS_LEFT:
        return PluginError(f"{job}application technique {name} sent every core away with tasks left, {left} of them")
    if status == ApplicationStatus.ALL_LOST:
        return InputError(f"{job}all cores are lost, with {left} tasks left; allowed: cores that come back")
    lengths = state.as_kernels_see("lengths")
    longest = int(lengths.argmax())
    return InputError(
        f"{job}the application would not end before the last simulated instant, {MAX_NS} ns; its longest task, {longest}, has "
        f"{lengths[longest]:g} GFLOP"
    )


def lost_error(application: ApplicationSimulator) -> InputError:
    """Return the error for an application that is :attr:`ApplicationSimulator.lost`, for a caller that cannot continue without
    it."""
    left = int(application.state.n_left)
    if application.last_lost < 0:
        return InputError(
            f"{left} tasks are left, and cores are lost before any of them ends; allowed: cores that stay longer"
        )
    return InputError(f"all cores are lost, with {left} tasks left; allowed: cores that come back")
