"""Figures of a workload."""
