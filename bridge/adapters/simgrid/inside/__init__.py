"""The program in SimGrid's own process: one job, whose cores are SimGrid actors. It needs only SimGrid and Python.

A process holds one SimGrid engine, which cannot be run twice, and SimGrid may be installed for another Python than the
project. So each job has its own process, in the Python that has SimGrid (``bridge.adapters.simgrid.process``).
"""
