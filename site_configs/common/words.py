# SPDX-License-Identifier: Apache-2.0
"""Checks that a site uses the vocabulary of the checks (reframe_checks/vocabulary.py) with valid values."""

import difflib

from coffeecup.postprocess.benchmarks.registry import benchmarks
from coffeecup.postprocess.show.words import counted
from coffeecup.reframe_checks.vocabulary import Extra, Feature, schema_error

from .tree import OF_REFRAME

TABLE = "the vocabulary is in docs/vocabulary.md"


def findings(site):
    """(level, place, what, remedy) of every partition; of the site, if checks run on none."""
    if not site.partitions():
        yield (
            "refused",
            str(site.shown),
            "checks run on none of its partitions",
            f"add one without the feature {str(Feature.LOGIN)!r} to a system of its own, with another name than "
            f"{' or '.join(OF_REFRAME)}",
        )
        return
    refused = [
        finding for full_name, partition in site.partitions() for finding in of_partition(site, full_name, partition)
    ]
    yield from (("refused", *finding) for finding in refused)
    if not refused:
        yield "ok", "vocabulary", "features and extras are known and have valid values"


def of_partition(site, full_name, partition):
    """(place, what, remedy) of every problem of one partition."""
    place = f"{site.shown}, partition {full_name}"
    extras = partition.get("extras", {})
    for feature in partition.get("features", ()):
        if feature not in set(Feature):
            yield place, f"unknown feature {feature!r}", remedy(feature, Feature)
    for name, value in extras.items():
        if name not in set(Extra):
            yield place, f"unknown extra {name!r}", remedy(name, Extra)
        elif error := schema_error(Extra(name).schema, value):
            yield place, f"extra {name!r}{error}", f"the extra is: {Extra(name).meaning}"
    for environment in partition.get("environs", ()):
        if environment not in site.environments:
            yield place, f"unknown environment {environment!r}", f"defined are {', '.join(site.environments) or 'none'}"
    if not partition.get("environs"):
        yield (
            place,
            "no environment",
            "name one with an MPI compiler in `environs`; checks need it to build their kernels",
        )
    yield from of_numbers(place, extras)
    yield from of_names(place, extras)


def remedy(word, words):
    close = difflib.get_close_matches(word, [str(known) for known in words], 1)
    return f"did you mean {close[0]!r}?" if close else f"known are {', '.join(words)}; {TABLE}"


def of_numbers(place, extras):
    """More nodes or processes than exist."""
    nodes, cores = extras.get(Extra.NUM_NODES, 1), extras.get(Extra.CORES_PER_NODE)
    largest, sizes = extras.get(Extra.MAX_NODES, nodes), extras.get(Extra.SIZES, ())
    if not all(isinstance(number, int) for number in (nodes, largest, *sizes)):
        return  # reported before
    if largest > nodes:
        yield (
            place,
            f"{Extra.MAX_NODES} is {largest}, but the partition has {nodes} nodes",
            f"lower it, or correct {Extra.NUM_NODES}",
        )
    usable = min(nodes, largest)
    if isinstance(cores, int) and sizes and max(sizes) > usable * cores:
        yield (
            place,
            f"size {max(sizes)} does not fit on {counted(usable, 'node')} of {counted(cores, 'core')}",
            f"correct {Extra.SIZES}, or the numbers of the partition",
        )


def of_names(place, extras):
    """Kernels that do not exist, file systems with the same name."""
    kernels = extras.get(Extra.KERNELS, ())
    options = extras.get(Extra.KERNEL_OPTIONS, {})
    for name in (*kernels, *options):
        if name not in benchmarks():
            yield place, f"unknown kernel {name!r}", f"kernels are {', '.join(benchmarks())}"
    systems = extras.get(Extra.FILE_SYSTEMS, ())
    names = [entry.get("name") for entry in systems if isinstance(entry, dict)]
    for name in sorted({name for name in names if names.count(name) > 1}, key=str):
        yield place, f"two file systems have the name {name!r}", "give each a unique name"
