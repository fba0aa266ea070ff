"""Further attempts of jobs, and jobs that lose all their cores."""
