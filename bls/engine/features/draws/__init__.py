"""Draws of jobs and known power limits, which all features of power share."""
