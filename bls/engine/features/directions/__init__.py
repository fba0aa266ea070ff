"""Commands of a policy to running jobs: speeds and ends."""
