"""SimGrid as the application level: the jobs' loops and graphs, simulated by SimGrid's actors on SimGrid's hosts and links.

``python -m bridge.adapters.simgrid`` is a command for ``--als-command``; ``docs/how-to/simgrid.md`` lists its features. The
code that uses SimGrid is in :mod:`bridge.adapters.simgrid.inside`, and runs in a process of its own for each job.
"""
