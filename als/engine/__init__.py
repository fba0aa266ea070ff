"""The application engine: tasks of one job on its cores, and the state that they run in."""
