"""Run times and power draws predicted from ended jobs."""
