# SPDX-License-Identifier: Apache-2.0
"""The features and extras of a partition that checks may ask for. No other file spells their names.

Checks use the names, `coffeecup site check` validates the names and values of every configuration, and the table in
docs/vocabulary.md repeats this table for readers (a test compares the two).
"""

from enum import StrEnum

STAGE = "stage"  # the file system of the stage directory, where a partition names none
GIVEN = "given"  # the one of `-S <check>.directory=DIR` or `-S num_nodes=N`, in place of all others
MPI = "mpi"  # the feature of an environment, usual in public configurations, that states that it has MPI

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
    LOGIN = (
        "login",
        "a login node: kernels are built and jobs are submitted on it, and no check runs on it. A partition without a "
        "scheduler is a login node if another partition has a scheduler",
    )
    GPU = (
        "gpu",
        "nodes with accelerators: checks that measure in their memory run here as well, with one process per device",
    )
    LOAD = (
        "load",
        "checks may load the network and the file systems as much as they can, which slows down other users' jobs: "
        "those whose names end with `_load` run here",
    )


class Extra(_Word):
    """Names for a partition's `extras`."""

    CORES_PER_NODE = (
        "cores_per_node",
        "processes that fill a node; default: ReFrame's processor information, otherwise what Slurm or PBS reports "
        "(the smallest of unequal nodes), on the local machine the cores that this process may use",
        COUNT,
    )
    NUM_NODES = (
        "num_nodes",
        "nodes of the partition; default: what Slurm or PBS reports, without a scheduler 1; a batch partition whose "
        "number of nodes is unknown is refused",
        COUNT,
    )
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
        "list of `{name, directory, options}`: file systems that I/O checks measure, each separately; `options` "
        "are directives that a job needs to access it; `$VARIABLES` in `directory` are expanded in the job; default: "
        "the check's stage directory, named `stage`",
        FILE_SYSTEMS,
    )
    DEVICES_PER_NODE = (
        "devices_per_node",
        "accelerators of a node; default: the sum of `num_devices` of ReFrame's `devices` of type `gpu`",
        COUNT,
    )
    DEVICE_MEMORY = (
        "device_memory",
        "kind of memory of the accelerators, as the kernel's option `--memory` names it; default: `cuda` or `hip`, "
        "where the `arch` of ReFrame's `devices` begins with `sm_` or `gfx`",
        TEXT,
    )
    R_MAX_PER_NODE = (
        "r_max_per_node",
        "Linpack performance of a node in Gflop/s (R_max of the system / its nodes): adds the metric `balance_factor`, "
        "effective bandwidth of communication / R_max of the nodes of the run",
        {"type": "number", "exclusiveMinimum": 0},
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
    REFERENCE_VALUES = (
        "reference_values",
        "folder of the reference files of the checks; default: `reference_values/`",
        TEXT,
    )


# Of a system: what is known about its partitions beyond their configuration, under ReFrame's own keys.
OVERLAY = {
    "type": "object",
    "required": ["partitions"],
    "properties": {
        "partitions": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "properties": {
                    "environs": TEXTS,
                    "extras": {
                        "type": "object",
                        "properties": {str(extra): extra.schema for extra in Extra},
                        "additionalProperties": False,
                    },
                    "features": {"type": "array", "items": {"enum": [str(feature) for feature in Feature]}},
                },
                "additionalProperties": False,
            },
        }
    },
    "additionalProperties": False,
}


def schema_error(schema, value):
    """Place and problem of a value, like `[0]: "name" is a required property`; empty if it is valid."""
    import jsonschema_rs

    error = next(jsonschema_rs.Draft202012Validator(schema).iter_errors(value), None)
    return "".join(f"[{step!r}]" for step in error.instance_path) + f": {error.message}" if error else ""


def markdown():
    """The table in docs/vocabulary.md."""
    rows = [(kind, word) for kind, words in (("feature", Feature), ("extra", Extra)) for word in words]
    return "\n".join(
        [
            "| kind | name | meaning |",
            "|---|---|---|",
            *(f"| {kind} | `{word}` | {word.meaning} |" for kind, word in rows),
        ]
    )
