"""HCP'19, PCP'19 and PCP'20: policies that plan every decision with constraint programming (``bls.cp``)."""

from bls.policies.planning.planner import HCP19, PCP19, PCP20, Planner

__all__ = ["HCP19", "PCP19", "PCP20", "Planner"]
