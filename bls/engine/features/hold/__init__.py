"""Jobs that a policy holds: they wait, and no pass starts them until it releases the hold."""
