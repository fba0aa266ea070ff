"""Studies: many runs, described by a file, and one table of all their metrics.

``study_file`` reads the description, an executor (``local``, ``dask_cluster``) called by ``run_study`` does the work,
``journal`` keeps finished work, and ``results`` makes the tables.
"""
