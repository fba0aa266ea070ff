"""A policy that rejects all jobs."""
