"""The machine that is simulated: hosts and what they have, partitions, switches; and the files that describe it."""
