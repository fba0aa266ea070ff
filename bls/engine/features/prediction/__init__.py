"""Run times and power draws predicted from ended jobs, and ends that applications promise."""
