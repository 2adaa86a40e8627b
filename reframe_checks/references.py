# SPDX-License-Identifier: Apache-2.0
"""References of a check: ReFrame's external form, read strictly.

ReFrame reads this form itself since 4.10, skips a test whose file is missing, and passes one whose reference names a
metric that does not exist, or none that fits. Here the file is read inside the pipeline, where an error fails the test;
every entry is checked against the metrics; a size without an entry is reported as having no reference wherever the
result is shown; and ReFrame 4.9 gets the same references.
"""

import hashlib
import re
from pathlib import Path
from typing import NoReturn

import reframe as rfm
from reframe.core import exceptions
from reframe.core.builtins import run_before, variable, xfail
from reframe.core.logging import getlogger

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.benchmarks.benchmark import STANDARD, VARIANT
from coffeecup.postprocess.benchmarks.registry import metric_kind
from coffeecup.postprocess.logs.trees import parsed

from .environments import mpi_environments
from .partitions import extras_of
from .paths import REFERENCE_VALUES
from .vocabulary import Extra


class ReferenceStatus:
    """What a result was compared with."""

    NONE = "no reference"
    PARTIAL = "reference for some metrics"
    COMPLETE = "reference for every metric"
    DERIVED = "reference derived by a scaling law"
    HISTORY = "limit from the history"


BY_ENVIRONMENT = "$environ"
EXPECTED_TO_FAIL = "$xfail"
DERIVED_BOUNDS = 2.0  # width relative to the bounds of the measured size


class ExternalReferences(rfm.RegressionTestPlugin):
    """Compares the metrics with `reference_file`, by default <check>.yaml in the partition's folder of reference files,
    by `reference_index`: the `$index` that the file has to have, the number of processes at its end. Where a partition
    has several environments, `$environ` follows `$partition`. `variant` before the number of processes distinguishes
    runs with a requested placement, number of processes per node, or form (`processes_per_node=1`) from all others
    (`standard`); without it, only the latter are compared."""

    reference_index = ["$partition", "num_processes"]

    variant = variable(str, value=STANDARD, loggable=True)
    reference_file = variable(str, value="", loggable=True)
    reference_sha256 = variable(str, value="", loggable=True)
    reference_status = variable(str, value=ReferenceStatus.NONE, loggable=True)

    @run_before("compile")
    def read_references(self):
        """After setup, which declares the metrics, and before anything runs."""
        name = type(self).__name__
        folder = extras_of(self.current_partition).get(Extra.REFERENCE_VALUES, REFERENCE_VALUES)
        path = Path(self.reference_file or Path(folder, f"{name}.yaml")).resolve()
        self._content = check_reference_file(
            path, name, self.reference_index, {tag: metric.unit for tag, metric in self.perf_variables.items()}
        )
        index = self._content[name]["$index"]
        self.reference_file = str(path)
        self.reference_sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        if self.variant != STANDARD and VARIANT not in index:
            self.reference, self.reference_status, self._references = {}, ReferenceStatus.NONE, {}
            return
        entries = self._entries(self._content[name], index)
        self.reference = {self.current_partition.fullname: entries}
        self._references, referenced = entries, set(entries)
        environments = mpi_environments(self.current_partition)
        if referenced and BY_ENVIRONMENT not in index and len(environments) > 1:
            raise exceptions.PipelineError(
                f"reference file {path}: partition {self.current_partition.fullname!r} has several environments "
                f"({', '.join(environments)}): the $index must contain {BY_ENVIRONMENT}"
            )
        if referenced:
            complete = referenced >= set(self.perf_variables)
            self.reference_status = ReferenceStatus.COMPLETE if complete else ReferenceStatus.PARTIAL
        if self._derived:
            self.reference_status = ReferenceStatus.DERIVED

    _derived = False

    def _entries(self, level, index):
        """The references of this run by metric, none where the file has none: as ReFrame 4.10 finds them, by attributes
        of the test in the order of the $index, where a key may be a regular expression."""
        special = {"$partition": self.current_partition.fullname, BY_ENVIRONMENT: self.current_environ.name}
        for subkey in index:
            key = special.get(subkey) or getattr(self, subkey)
            expressions = (known for known in level if isinstance(known, str) and re.fullmatch(known, str(key)))
            known = key if key in level else next(expressions, None)
            if known is None:
                return self._derive(level, key) if subkey == index[-1] else {}
            level = level[known]
        return {metric: reference_of(entry) for metric, entry in level.items()}

    def _derive(self, data, size):
        """For a size without an entry: a scaling law that the reference file states takes the nearest smaller size.

        `_meta.scaling` holds an exponent per metric; the bounds are DERIVED_BOUNDS times as wide as the measured ones.
        """
        laws = self._content["_meta"].get("scaling", {})
        smaller = [known for known in data if known < size]
        if not laws or not smaller:
            return {}
        nearest = max(smaller)
        scaled_entries = {
            metric: scaled(data[nearest][metric], (size / nearest) ** law["exponent"])
            for metric, law in laws.items()
            if metric in data[nearest]
        }
        derived = {
            metric: entry
            for metric, entry in scaled_entries.items()
            if metric_kind(self.benchmark, metric).can_fail(*entry[:3])
        }
        self._derived = bool(derived)
        return derived

    @run_before("performance")
    def say_what_is_not_compared(self):
        """As a message, because ReFrame prints such metrics like all others and counts the test as passed."""
        if lost := self._references.keys() - set(self.perf_variables):
            raise exceptions.SanityError(
                f"there is a reference for {', '.join(sorted(lost))}, which this run did not measure"
            )
        if self.reference_status == ReferenceStatus.DERIVED:
            getlogger().info(
                f"{self.display_name} on {self.current_partition.fullname}: {self.reference_status}: this size was "
                f"never measured ({self.reference_file})"
            )
        elif self.reference_status not in (ReferenceStatus.COMPLETE, ReferenceStatus.HISTORY) and not self.is_dry_run():
            getlogger().info(
                f"{self.display_name} on {self.current_partition.fullname}: {self.reference_status}; "
                f"a metric without one is reported and cannot fail ({self.reference_file})"
            )


def reference_of(entry):
    """An entry as ReFrame takes it."""
    return xfail(entry[1], tuple(entry[-1])) if entry[0] == EXPECTED_TO_FAIL else tuple(entry)


def scaled(entry, factor):
    """An entry at another size: the value times `factor`, wider bounds, and no expectation to fail."""
    value, lower, upper, unit = entry[-1] if entry[0] == EXPECTED_TO_FAIL else entry
    return (value * factor, lower and lower * DERIVED_BOUNDS, upper and upper * DERIVED_BOUNDS, unit)


def check_reference_file(path, name, index, units):
    """The file's content. Raise a PipelineError with one sentence for everything in it that ReFrame would pass
    over."""

    def refuse(what) -> NoReturn:
        raise exceptions.PipelineError(f"reference file {path}: {what}")

    try:
        content, _ = parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        refuse(f"cannot be read: {error}")
    if not isinstance(content, dict) or not isinstance(content.get("_meta"), dict):
        refuse("has no _meta that records the origin of its values")
    if not isinstance(content.get(name), dict):
        refuse(f"has no entry {name!r}")
    found = content[name].get("$index")
    least = [entry for entry in found or () if entry not in (BY_ENVIRONMENT, VARIANT)]
    optional = {1: BY_ENVIRONMENT, -2: VARIANT}
    if least != index or any(found.count(entry) and found[place] != entry for place, entry in optional.items()):
        refuse(
            f"{name}: $index must be {index}; if needed, with {BY_ENVIRONMENT} in the second place and {VARIANT} in "
            "the last but one"
        )
    sizes, places = {}, {key: entries for key, entries in _items(content[name], refuse, name) if key != "$index"}
    for _ in found[1:]:
        places = {
            f"{where}, {key}": (key, entries)
            for where, found in places.items()
            for key, entries in _items(found, refuse, where)
        }
        sizes, places = (
            {where: key for where, (key, _) in places.items()},
            {where: entries for where, (_, entries) in places.items()},
        )
    for where, metrics in places.items():
        if not isinstance(sizes[where], int):
            refuse(f"{where}: the number of processes must be an integer, not {sizes[where]!r}")
        for metric, entry in _items(metrics, refuse, where):
            _check_entry(f"{where}, {metric}", name, metric, entry, units, refuse)
    for metric, law in _items(content["_meta"].get("scaling", {}), refuse, "_meta.scaling"):
        if metric not in units or not isinstance(law, dict) or not isinstance(law.get("exponent"), (int, float)):
            refuse(f"_meta.scaling: expected a metric with its exponent, got {metric!r}: {law!r}")
    return content


def _items(mapping, refuse, where):
    if not isinstance(mapping, dict):
        refuse(f"{where}: expected a mapping, got {mapping!r}")
    for key in mapping:
        try:
            re.compile(str(key))
        except re.error as error:
            refuse(f"{where}: the key {key!r} is no regular expression: {error}")
    return mapping.items()


def _check_entry(where, name, metric, entry, units, refuse):
    if metric not in units:
        refuse(f"{where}: there is no such metric; valid are {', '.join(sorted(units))}")
    value = entry
    if isinstance(entry, list) and entry and entry[0] == EXPECTED_TO_FAIL:
        if len(entry) != 3 or not isinstance(entry[1], str):
            refuse(f"{where}: expected [{EXPECTED_TO_FAIL}, reason, [reference, lower, upper, unit]], got {entry!r}")
        value = entry[2]
    if not isinstance(value, list) or len(value) != 4:
        refuse(f"{where}: expected [reference, lower, upper, unit], got {entry!r}")
    reference, lower, upper, unit = value
    numbers = (reference, *(bound for bound in (lower, upper) if bound is not None))
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        refuse(f"{where}: reference and bounds must be numbers, not {entry!r}")
    if (lower or 0) > 0 or (upper or 0) < 0:
        refuse(f"{where}: bounds are fractions, the lower one at most 0, the upper one at least 0, not {entry!r}")
    if not metric_kind(name, metric).can_fail(reference, lower, upper):
        refuse(f"{where}: no bad value fails this reference: {entry!r}")
    if unit != units[metric]:
        refuse(f"{where}: the unit is {units[metric]!r}, not {unit!r}")
