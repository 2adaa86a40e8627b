# SPDX-License-Identifier: Apache-2.0
"""Reference files: YAML in ReFrame's external form."""

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.logs import trees
from coffeecup.postprocess.logs.paths import replace_text
from coffeecup.postprocess.references.proposals import COLUMNS, VARIANT
from coffeecup.postprocess.show.words import printable

LARGEST = 2**26  # byte
HEADER = """\
# References of the check {benchmark}, in ReFrame's external form: [value, lower and upper bound as fractions, unit]
# by partition and number of processes. `coffeecup references propose` wrote them; _meta records from which
# sessions, and whether these measured or simulated. docs/references.md explains the entries.
"""


class ReferenceFileError(ValueError):
    """Not a reference file; the message names the file."""

    def __init__(self, path: Path, problem: str):
        super().__init__(printable(f"{path}: {problem}"))


def load(path: Path, benchmark: str, remedy: str = "") -> dict:
    """The content of a reference file. Raises ReferenceFileError, with the remedy if it is of another benchmark."""
    try:
        content, _ = trees.read(path, LARGEST)
    except trees.TreeError as error:
        raise ReferenceFileError(path, str(error)) from None
    if (
        not isinstance(content, dict)
        or not isinstance(content.get(benchmark), dict)
        or not isinstance(content.get("_meta"), dict)
    ):
        raise ReferenceFileError(
            path, f"not a reference file of {benchmark}: the entry {benchmark} or _meta is missing{remedy}"
        )
    index = content[benchmark].get("$index")
    own, named = benchmark in benchmarks(), isinstance(index, list) and all(isinstance(name, str) for name in index)
    if not index or not named or (own and not {*COLUMNS, VARIANT} >= set(index)):
        raise ReferenceFileError(path, f"$index must be a list of {', '.join((*COLUMNS, VARIANT))}, not {index!r:.80}")
    tree = {where: inner for where, inner in content[benchmark].items() if where != "$index"}
    if problem := next(problems(tree, content["_meta"].get("measured"), len(index)), None):
        raise ReferenceFileError(path, problem)
    return content


def problems(tree: dict, measured, levels: int) -> Iterator[str]:
    """What is not in the form of references with this number of levels above the metrics, or of their origins."""
    for keys, entry in leaves(tree, levels + 1):
        for key in keys[:-1]:
            if isinstance(key, str) and not is_pattern(key):
                yield f"{key!r:.80} is not a regular expression"
        if len(keys) <= levels or not is_entry(entry):
            yield (
                f"{worded(keys)}: expected [value, lower, upper, unit] below {levels} levels, with lower at most 0 and "
                f"upper at least 0, not {entry!r:.80}"
            )
    for keys, epochs in leaves(measured, levels):
        if not isinstance(epochs, list) or not all(
            isinstance(epoch, dict) and "valid_from" in epoch for epoch in epochs
        ):
            yield f"_meta.measured, {worded(keys)}: expected a list of epochs with valid_from, not {epochs!r:.80}"


def leaves(tree, levels: int, keys: tuple = ()) -> Iterator[tuple[tuple, object]]:
    """The keys of this number of levels, or of fewer where there is no mapping, and what they lead to. An empty mapping
    or null leads to nothing."""
    if levels and isinstance(tree, dict):
        for key, inner in tree.items():
            yield from leaves(inner, levels - 1, (*keys, key))
    elif tree is not None:
        yield keys, tree


def worded(keys: tuple) -> str:
    return ", ".join(map(str, keys))


def is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, RecursionError, OverflowError):
        return False
    return True


def is_entry(entry) -> bool:
    if not isinstance(entry, list):
        return False
    if entry[:1] == ["$xfail"]:
        return len(entry) == 3 and is_entry(entry[2]) and entry[2][0] != "$xfail"
    return (
        len(entry) in (3, 4)
        and is_number(entry[0])
        and all(bound is None or is_number(bound) for bound in entry[1:3])
        and not ((entry[1] or 0) > 0 or (entry[2] or 0) < 0)
        and all(isinstance(unit, (str, type(None))) for unit in entry[3:])
    )


def is_number(value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def save(path: Path, content: dict, benchmark: str) -> None:
    """Writes the file, and its folder. Raises OSError."""
    text = yaml.dump(content, Dumper=Compact, sort_keys=False, width=140, allow_unicode=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, HEADER.format(benchmark=benchmark) + text)


class Compact(yaml.SafeDumper):
    """One line per entry, with lists in brackets and without anchors."""

    def ignore_aliases(self, data) -> bool:  # noqa: ARG002
        return True

    def represent_sequence(self, tag, sequence, flow_style=None):  # noqa: ARG002
        return super().represent_sequence(tag, sequence, flow_style=True)
