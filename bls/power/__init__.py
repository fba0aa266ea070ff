"""Power of hosts and jobs over time, computed exactly, and power limits."""
