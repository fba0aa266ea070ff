"""Figures of studies.

``results`` has one row per combination and seed, ``workload`` chooses one workload if there are several, ``metric`` is a
column of the results. More than eight techniques are rows.
"""
