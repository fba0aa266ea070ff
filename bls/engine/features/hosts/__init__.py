"""Outages and drains of hosts, and further attempts of jobs."""
