"""How the objects of the Python API show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape


def html_table(rows: Sequence[tuple[str, str]]) -> str:
    """Names and what there is to say of each, in two columns."""
    lines = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th><td style='text-align:left'>{escape(value)}</td></tr>"
        for name, value in rows
    )
    return f"<table>{lines}</table>"
