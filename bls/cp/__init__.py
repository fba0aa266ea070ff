"""Dispatchers that plan with constraint programming: HCP'19, PCP'19 and PCP'20, and one with node classes, on OR-Tools' CP-SAT.

:func:`dispatch` gets one instant as an :class:`Instance` and decides which jobs start, and where. Nothing here depends on a
simulator: any program with a queue and a machine may use it.

Source: Galleguillos, Kiziltan and Soto, "A Constraint Programming-based Job Dispatcher for Modern HPC Systems and
Applications", arXiv:2009.10348 (2020).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
