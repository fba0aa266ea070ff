"""What runs in SimGrid's own process: one job, whose cores are SimGrid actors. It needs SimGrid and Python, and nothing else.

A process holds one SimGrid engine, which cannot be run again, and SimGrid may be installed for another Python than the
project: so each job has a process of its own, in the Python that has SimGrid (``bridge.adapters.simgrid.process``).
"""
