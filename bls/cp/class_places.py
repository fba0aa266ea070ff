"""Nodes of the jobs that start now: best fit (HCP'19, second stage), and places within node classes.

Best fit: in order of priority, each job takes the nodes with the least remaining resources, summed over all kinds, lowest node
numbers first; the paper states neither order.

In a plan of node classes, jobs are placed by best fit in the order of the ranking. If a job does not fit, they are placed again
with the largest units first. If that fails too, a model finds the places that lose least, where each job that has to wait costs
its weight. A job without a place in the classes of its plan may take free resources of other classes.
"""

from typing import Any

import numpy as np

from bls.cp.classes import NodeClasses
from bls.cp.parameters import Parameters
from bls.cp.problem import Problem
from bls.cp.scheduling import cp_model, solve
from traces.compiled import Array

_Places = dict[int, Array]  #: int64 (units,): the node of every unit, by job


def best_fit(problem: Problem, free: Array, starting: Array) -> tuple[_Places, list[int]]:
    """Place jobs on nodes. ``free``, int64 (nodes, resources). ``starting``: the jobs, in the order in which they choose.
    Returns the node of every unit by job, int64 (units,); and the jobs that do not fit."""
    free = free.copy()
    placed: _Places = {}
    without = []
    for job in starting.tolist():
        room = problem.units_on(job, free)
        hosts = np.flatnonzero(room)
        hosts = hosts[np.argsort(free[hosts].sum(axis=1), kind="stable")]
        up_to = np.cumsum(room[hosts])
        wanted = int(problem.units[job])
        if not len(hosts) or up_to[-1] < wanted:
            without.append(job)
            continue
        nodes = np.repeat(hosts, room[hosts])[:wanted]
        np.subtract.at(free, nodes, problem.per_unit[job])
        placed[job] = nodes
    return placed, without


def class_places(
    classes: NodeClasses, starting: Array, class_units: Array, weights: list[int], parameters: Parameters
) -> tuple[_Places, list[int], bool, int]:
    """Place jobs on nodes. ``starting``: the jobs, highest priority first. ``class_units``, int64 (k, classes): units of each
    job per class. ``weights``: the cost of a job's wait, by job. ``parameters``: limits of the search. Returns the node of
    every unit by job, ascending; the jobs without a place; whether the clock ended the search; and the number of runs of
    CP-SAT, 0 or 1."""
    problem, was_stopped, solves = classes.problem, False, 0
    placed = _greedy(classes, starting, class_units)
    if len(placed) < len(starting):
        largest = starting[np.argsort(-problem.per_unit[starting].sum(axis=1), kind="stable")]
        other = _greedy(classes, largest, class_units)
        placed = max(placed, other, key=lambda one: sum(weights[job] for job in one))
    if len(placed) < len(starting):
        placed, was_stopped, solves = _solved(classes, starting, class_units, weights, parameters, placed)
    free = problem.free.copy()
    for job, nodes in placed.items():
        np.subtract.at(free, nodes, problem.per_unit[job])
    left = np.array([job for job in starting.tolist() if job not in placed], np.int64)
    elsewhere, without = best_fit(problem, free, left)
    return dict(sorted((placed | elsewhere).items())), without, was_stopped, solves


def _greedy(classes: NodeClasses, order: Array, class_units: Array) -> _Places:
    """Place job by job on the fullest nodes of its classes."""
    problem, free = classes.problem, classes.problem.free.copy()
    placed = {}
    for job in order.tolist():
        room, nodes = problem.units_on(job, free), []
        for node_class, wanted in enumerate(class_units[job].tolist()):
            hosts = np.flatnonzero(room * (classes.of_node == node_class)) if wanted else ()
            if not wanted:
                continue
            hosts = hosts[np.argsort(free[hosts].sum(axis=1), kind="stable")]
            nodes.append(np.repeat(hosts, room[hosts])[:wanted])
        on = np.concatenate(nodes)
        if len(on) == problem.units[job]:
            np.subtract.at(free, on, problem.per_unit[job])
            placed[job] = on
    return placed


def _solved(
    classes: NodeClasses, starting: Array, class_units: Array, weights: list[int], parameters: Parameters, hint: _Places
) -> tuple[_Places, bool, int]:
    """The places that lose least, or those of the hint; whether the clock stopped the solver; and the number of its runs."""
    problem, nodes = classes.problem, _nodes(classes, starting)
    room = {job: problem.units_on(job, problem.free)[nodes] for job in starting.tolist()}
    able = {job: [k for k in np.flatnonzero(on).tolist() if class_units[job, classes.of_node[nodes[k]]]]
            for job, on in room.items()}  # fmt: skip
    if sum(map(len, able.values())) > parameters.most_variables:
        return hint, False, 0
    model = cp_model().CpModel()
    is_placed = {job: model.new_bool_var("") for job in able}
    on_node: list[list[tuple[int, Any]]] = [[] for _ in nodes]
    counts: list[tuple[int, int, Any]] = []
    for job, hosts in able.items():
        of_class: dict[int, list[Any]] = {c: [] for c in np.flatnonzero(class_units[job]).tolist()}
        for k in hosts:
            node_class = int(classes.of_node[nodes[k]])
            units = model.new_int_var(0, min(int(room[job][k]), int(class_units[job, node_class])), "")
            of_class[node_class].append(units)
            on_node[k].append((job, units))
            counts.append((job, int(nodes[k]), units))
        for node_class, some in of_class.items():
            model.add(sum(some) == int(class_units[job, node_class]) * is_placed[job])
    for k, wanting in enumerate(on_node):
        for kind in range(len(problem.resources)):
            asked = [(int(problem.per_unit[job, kind]), units) for job, units in wanting if problem.per_unit[job, kind]]
            if asked:
                model.add(sum(amount * units for amount, units in asked) <= int(problem.free[nodes[k], kind]))
    model.maximize(sum(weights[job] * literal for job, literal in is_placed.items()))
    # The hint's nodes may differ from the kept ones, so the placed jobs are a hint as well.
    for job, literal in is_placed.items():
        model.add_hint(literal, int(job in hint))
    variables = [*is_placed.values(), *(units for _, _, units in counts)]
    found = solve(model, variables, parameters, limit_s=parameters.limit_s, fixed=False)
    if found.was_stopped or not found.values:
        return hint, found.was_stopped, 1
    chosen = [job for job, value in zip(able, found.values, strict=False) if value]
    if sum(weights[job] for job in chosen) <= sum(weights[job] for job in hint):
        return hint, False, 1
    places: dict[int, list[int]] = {job: [] for job in chosen}
    for (job, node, _), value in zip(counts, found.values[len(able) :], strict=True):
        if job in places:
            places[job] += [node] * value
    return {job: np.array(on, np.int64) for job, on in places.items()}, False, 1


def _nodes(classes: NodeClasses, starting: Array) -> Array:
    """Nodes, with at most as many of each kind (same class, same free resources) as there are units."""
    problem = classes.problem
    alike = np.concatenate((classes.of_node[:, np.newaxis], problem.free), axis=1)
    _, which = np.unique(alike, axis=0, return_inverse=True)
    which = which.ravel()
    order = np.argsort(which, kind="stable")
    first = np.concatenate((np.zeros(1, np.int64), np.cumsum(np.bincount(which))))
    place = np.empty_like(which)
    place[order] = np.arange(len(which)) - first[which[order]]
    return np.asarray(np.flatnonzero(place < int(problem.units[starting].sum())))
