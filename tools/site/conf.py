"""Configuration of Sphinx for ``python -m tools.site``."""

from __future__ import annotations

import os
from importlib.metadata import version as version_of

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx

project = "twolevel"
author = copyright = "The twolevel developers"
release = version = os.environ.get("TWOLEVEL_SITE_VERSION") or version_of("twolevel")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
templates_path = ["theme"]
html_static_path = ["theme/static"]
html_css_files = ["site.css"]

# Make anchors like code hosts, so links into a page work on both.
myst_heading_anchors = 4
# Notebooks contain their output; a test runs them (tests/docs/test_built.py).
nb_execution_mode = "off"

# Words in types of docstrings, such as cores and name, are also names of attributes.
suppress_warnings = ["ref.python"]

toc_object_entries = False
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "twolevel"
html_favicon = "theme/static/icon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "twolevel"},
    "header_links_before_dropdown": 6,
    "navbar_end": ["versions", "theme-switcher"],
    "navbar_persistent": ["search-button-field"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_depth": 3,
    "collapse_navigation": True,
}
# Index pages list their pages themselves.
html_sidebars: dict[str, list[str]] = {"index": [], "faq": []}


def setup(app: Sphinx) -> None:
    """Show blocks that are not in a programming language unchanged."""
    for kind in ("csv", "hex", "session", "scheduler-session"):
        app.add_lexer(kind, TextLexer)
