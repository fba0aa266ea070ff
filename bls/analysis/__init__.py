"""Descriptions and statistics of workloads."""
