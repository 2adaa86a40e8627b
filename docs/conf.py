# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of these pages: `make docs` builds them, and a browser opens them without a network."""

from coffeecup import __version__

project = "coffeecup"
release = __version__
copyright = "the coffeecup developers"
extensions = ["myst_parser", "sphinx.ext.mathjax", "sphinx-mathjax-offline"]
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 3
nitpicky = True
html_theme = "furo"
html_title = f"coffeecup {release}"
html_copy_source = False


def focusable(app, page, template, context, doctree):
    """Code that is wider than its page can be scrolled with the keyboard."""
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')


def setup(app):
    app.connect("html-page-context", focusable)
