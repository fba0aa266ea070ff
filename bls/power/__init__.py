"""Power: what hosts and jobs draw over time, exactly, and limits to it."""
