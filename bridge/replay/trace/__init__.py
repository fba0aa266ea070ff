"""What is given to Slurm: jobs with all that they ask for, switches, reservations, and the states of nodes."""
