"""Pajé, for ViTE, Paje and pj_dump."""

from traces.exporters.paje.writer import FILE, write_paje

__all__ = ["FILE", "write_paje"]
