"""HCP'19, PCP'19, PCP'20, and node classes: policies that plan every decision with constraint programming (``bls.cp``)."""

from bls.policies.planning.planner import CP_CLASSES, HCP19, PCP19, PCP20, PlanningPolicy

__all__ = ["CP_CLASSES", "HCP19", "PCP19", "PCP20", "PlanningPolicy"]
