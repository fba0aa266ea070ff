"""Orders of the queue by scores, and accounts of policies."""
