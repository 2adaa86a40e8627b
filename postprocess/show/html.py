# SPDX-License-Identifier: Apache-2.0
"""HTML pages: templates that escape everything, with the filters for numbers, figures and tables."""

import jinja2
from markupsafe import Markup

from coffeecup.postprocess.show.words import NARROW_SPACE, counted, digits, exact, printable, seconds, size, unit_word


def environment(*templates: jinja2.BaseLoader) -> jinja2.Environment:
    """An environment of these templates and those beside this file. Everything is escaped, and a missing name is an
    error."""
    made = jinja2.Environment(
        loader=jinja2.ChoiceLoader([jinja2.PackageLoader("coffeecup.postprocess.show"), *templates]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "digits": lambda value: digits(value, NARROW_SPACE),
        "exact": exact,
        "size": size,
        "seconds": seconds,
        "counted": counted,
        "printable": printable,
        "lines": lambda text: "\n".join(map(printable, text.splitlines())),
        "unit_word": unit_word,
    }
    scrolling = made.get_template("table.html.j2").module.scrolling  # pyright: ignore[reportAttributeAccessIssue]
    made.globals |= {"svg": lambda figure, prefix: Markup(figure.svg(prefix)), "scrolling": scrolling}
    return made
