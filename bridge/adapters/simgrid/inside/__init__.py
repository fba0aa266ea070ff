"""The program in SimGrid's own process: one job, whose cores are SimGrid actors. It needs only SimGrid and Python.

A process holds one SimGrid engine, which runs once, and SimGrid may be installed for another Python than the project.
"""
