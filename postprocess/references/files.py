# SPDX-License-Identifier: Apache-2.0
"""Reference files: YAML in ReFrame's external form."""

from pathlib import Path

import yaml

from postprocess.references.proposals import COLUMNS
from postprocess.show.words import printable

HEADER = """\
# References of the check {benchmark}, in ReFrame's external form: [value, lower and upper bound as fractions, unit]
# by partition and number of processes. `coffeecup references propose` wrote them from measured sessions; _meta tells
# of which. docs/references.md explains all.
"""


class ReferenceFileError(ValueError):
    """Not a reference file; the message names the file."""


def load(path: Path, benchmark: str) -> dict:
    """The content of a reference file. Raises ReferenceFileError."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ReferenceFileError(f"{printable(str(path))}: cannot be read: {printable(str(error))}") from None
    if (
        not isinstance(content, dict)
        or not isinstance(content.get(benchmark), dict)
        or not isinstance(content.get("_meta"), dict)
    ):
        raise ReferenceFileError(
            f"{printable(str(path))}: not a reference file of {benchmark}: the entry {benchmark} or _meta is missing"
        )
    index = content[benchmark].get("$index")
    if not isinstance(index, list) or not index or not set(index) <= set(COLUMNS):
        raise ReferenceFileError(
            f"{printable(str(path))}: $index must be a list of {', '.join(COLUMNS)}, not {printable(str(index))}"
        )
    return content


def save(path: Path, content: dict, benchmark: str) -> None:
    """Writes the file atomically: a full disk or a signal leaves it as it was. Raises OSError."""
    text = HEADER.format(benchmark=benchmark) + yaml.dump(
        content, Dumper=Compact, sort_keys=False, width=140, allow_unicode=True
    )
    beside = path.with_name(f".{path.name}.new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


class Compact(yaml.SafeDumper):
    """One line per entry, with lists in brackets and without anchors."""

    def ignore_aliases(self, data) -> bool:  # noqa: ARG002
        return True

    def represent_sequence(self, tag, sequence, flow_style=None):  # noqa: ARG002
        return super().represent_sequence(tag, sequence, flow_style=True)
