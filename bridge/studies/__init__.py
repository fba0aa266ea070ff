"""Studies: many runs, from a file that says which, to one table of all their metrics.

``study_file`` reads what is wanted, ``run_study`` has it done by an executor (``local``, ``dask_cluster``), ``journal`` keeps
what is finished, and ``results`` makes the tables of it.
"""
