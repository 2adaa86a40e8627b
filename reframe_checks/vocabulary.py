# SPDX-License-Identifier: Apache-2.0
"""The features and extras of a partition that checks may ask for. No other file spells their names.

Checks use the names, `coffeecup site check` validates the names and values of every configuration, and the table in
docs/sites.md repeats this table for readers (a test compares the two).
"""

from enum import StrEnum

STAGE = "stage"  # the file system of the stage directory, where a partition names none
GIVEN = "given"  # the one of `-S <check>.directory=DIR`, in place of all others

COUNT = {"type": "integer", "minimum": 1}
TEXT = {"type": "string", "minLength": 1}
TEXTS = {"type": "array", "items": TEXT}
FILE_SYSTEMS = {
    "type": "array",
    "minItems": 1,
    "items": {
        "type": "object",
        "required": ["name", "directory"],
        "properties": {"name": TEXT, "directory": TEXT, "options": TEXTS},
        "additionalProperties": False,
    },
}


class _Word(StrEnum):
    """A name with the JSON schema of its value and its meaning."""

    meaning: str
    schema: dict

    def __new__(cls, name, meaning, schema=None):
        word = str.__new__(cls, name)
        word._value_, word.meaning, word.schema = name, meaning, schema
        return word


class Feature(_Word):
    """Names for a partition's `features`."""

    OVERCOMMIT = (
        "overcommit",
        "more processes than cores may be started; checks then run on up to 4 processes on smaller machines",
    )
    LOGIN = "login", "a login node: kernels are built and jobs submitted here, no check runs here"


class Extra(_Word):
    """Names for a partition's `extras`."""

    CORES_PER_NODE = (
        "cores_per_node",
        "processes that fill a node; default: ReFrame's processor information, on the local machine the cores that "
        "this process may use",
        COUNT,
    )
    NUM_NODES = "num_nodes", "nodes of the partition; default: 1", COUNT
    MAX_NODES = "max_nodes", "largest number of nodes that a check may take", COUNT
    MAX_MINUTES = (
        "max_minutes",
        "longest job that the partition accepts; a check that needs longer is skipped there, with a message",
        COUNT,
    )
    SIZES = (
        "sizes",
        'list of numbers of processes that checks run on, instead of those under "Sizes"',
        {"type": "array", "minItems": 1, "items": COUNT},
    )
    FILE_SYSTEMS = (
        "file_systems",
        "list of `{name, directory, options}`: file systems that I/O checks measure, each separately; `options` are "
        "directives that a "
        "job needs to access it; `$VARIABLES` in `directory` are expanded in the job; default: the check's stage "
        "directory, named `stage`",
        FILE_SYSTEMS,
    )
    KERNELS = "kernels", "list of the kernels that may run here; default: all", TEXTS
    KERNEL_OPTIONS = (
        "kernel_options",
        "map from a kernel to a list of options that are added to those of the check",
        {"type": "object", "additionalProperties": TEXTS},
    )
    LAUNCHER_OPTIONS = (
        "launcher_options",
        "list of launcher options for every run here; `{num_tasks_per_node}` is replaced by that number",
        TEXTS,
    )
    PLACEMENTS = (
        "placements",
        "map from `block` and `round_robin` to lists of launcher options; default: the known options of this kind of "
        "launcher",
        {"type": "object", "properties": {"block": TEXTS, "round_robin": TEXTS}, "additionalProperties": False},
    )
    CMAKE_OPTIONS = "cmake_options", "list of CMake options, used if kernels are not built by Spack", TEXTS
    SPACK_ENVIRONMENT = (
        "spack_environment",
        "path of the partition's own Spack environment; default: `common/spack.yaml`",
        TEXT,
    )
    SPACK_MPI = "spack_mpi", "Spack package that provides the MPI launcher; default: `mpi`", TEXT


def markdown():
    """The table in docs/sites.md."""
    rows = [(kind, word) for kind, words in (("feature", Feature), ("extra", Extra)) for word in words]
    return "\n".join(
        [
            "| kind | name | meaning |",
            "|---|---|---|",
            *(f"| {kind} | `{word}` | {word.meaning} |" for kind, word in rows),
        ]
    )
