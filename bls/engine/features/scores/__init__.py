"""Orders of the queue by scores, accounts of policies, and a policy that rejects all jobs."""
