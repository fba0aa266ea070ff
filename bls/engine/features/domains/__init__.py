"""Parts of the machine with their own power limits.

Limits always have domains: the machine is the first. This folder has what further parts need.
"""
