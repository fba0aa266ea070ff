"""Pajé, for ViTE, Paje and pj_dump."""
