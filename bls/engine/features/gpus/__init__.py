"""Numbered GPUs of hosts, which jobs hold whole or in shares."""
