"""Parts of the machine with their own power limits."""
