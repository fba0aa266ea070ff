"""Dispatchers that plan with constraint programming: HCP'19, PCP'19 and PCP'20, on OR-Tools' CP-SAT.

:func:`dispatch` is given one instant as an :class:`Instance` and decides who starts, and where. Nothing here knows of a
simulator: whoever has a queue and a machine may ask.

Source: Galleguillos, Kiziltan and Soto, "A Constraint Programming-based Job Dispatcher for Modern HPC Systems and
Applications", arXiv:2009.10348 (2020).
"""

from bls.cp.dispatch import dispatch
from bls.cp.instance import Instance, Queue, Running
from bls.cp.parameters import MODELS, Parameters
from bls.cp.plan import Plan, Start

__all__ = ["MODELS", "Instance", "Parameters", "Plan", "Queue", "Running", "Start", "dispatch"]
