"""Results of reports about running jobs."""

#: Results of :func:`report_job_releases` and ``report_width_requests``; with FULL the table of requests must grow first.
REFUSED, ACCEPTED, FULL = 0, 1, 2
