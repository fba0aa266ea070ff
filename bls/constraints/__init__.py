"""Constraints on when and where jobs may run: requests, dependencies, advance reservations, outages."""
