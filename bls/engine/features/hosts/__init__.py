"""Hosts that go down and come back, hosts that are drained, and jobs that are tried again."""
