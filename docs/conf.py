# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of these pages: `make docs` builds them, and a browser opens them without a network."""

import re

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


def finished(app, page, template, context, doctree):
    """Code that is wider than its page can be scrolled with the keyboard. The picture of the first page leads to the
    example centre."""
    if "body" in context:
        context["body"] = context["body"].replace("<pre>", '<pre tabindex="0">')
    if page == "index":
        context["body"] = re.sub(r"<img [^>]*>", r'<a href="example/index.html">\g<0></a>', context["body"])


def setup(app):
    app.connect("html-page-context", finished)
