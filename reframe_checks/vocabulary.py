"""The features and extras of a partition that checks may ask for: one table, and the only place that spells them.

Checks use the names, `coffeecup site check` holds every configuration against names and values, and the table in
site_configs/README.md is this one for people (a test compares the two).
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

    def __new__(cls, name, meaning, schema=None):
        word = str.__new__(cls, name)
        word._value_, word.meaning, word.schema = name, meaning, schema
        return word


class Feature(_Word):
    """Names for a partition's `features`."""

    OVERCOMMIT = "overcommit", "more processes than cores may be started; checks then go up to 4 processes on smaller machines"
    LOGIN = "login", "for building and submitting only; no check runs here"


class Extra(_Word):
    """Names for a partition's `extras`."""

    CORES_PER_NODE = (
        "cores_per_node",
        "processes that fill a node; without it ReFrame's processor information, and on the local machine the cores this process may use",
        COUNT,
    )
    NUM_NODES = "num_nodes", "nodes of the partition; without it 1", COUNT
    MAX_NODES = "max_nodes", "largest number of nodes that a check may take", COUNT
    MAX_MINUTES = "max_minutes", "longest job that the partition takes; a check that needs more is skipped there and says so", COUNT
    SIZES = "sizes", 'list of numbers of processes that checks run on, instead of those under "Sizes"', {
        "type": "array", "minItems": 1, "items": COUNT}
    FILE_SYSTEMS = (
        "file_systems",
        "list of `{name, directory, options}`: file systems that I/O checks measure, each on its own; `options` are directives that a "
        "job needs to get at it; `$VARIABLES` in `directory` are expanded in the job; without it the check's stage directory, named `stage`",
        FILE_SYSTEMS,
    )
    KERNELS = "kernels", "list of the kernels that may run here; without it all", TEXTS
    KERNEL_OPTIONS = (
        "kernel_options",
        "kernel to list of options that its runs here get besides those of the check",
        {"type": "object", "additionalProperties": TEXTS},
    )
    LAUNCHER_OPTIONS = (
        "launcher_options",
        "list of options of the launcher that every run here gets; `{num_tasks_per_node}` stands for that number",
        TEXTS,
    )
    PLACEMENTS = (
        "placements",
        "`block` and `round_robin` to lists of the launcher's options; without it those that its kind is known for",
        {"type": "object", "properties": {"block": TEXTS, "round_robin": TEXTS}, "additionalProperties": False},
    )
    CMAKE_OPTIONS = "cmake_options", "list of options for CMake, where kernels are not built by Spack", TEXTS
    SPACK_ENVIRONMENT = "spack_environment", "path of the partition's own Spack environment; without it `common/spack.yaml`", TEXT
    SPACK_MPI = "spack_mpi", "Spack's name of the package that brings the MPI launcher; without it `mpi`", TEXT


def markdown():
    """The table of site_configs/README.md."""
    rows = [(kind, word) for kind, words in (("feature", Feature), ("extra", Extra)) for word in words]
    return "\n".join(["| kind | name | meaning |", "|---|---|---|", *(f"| {kind} | `{word}` | {word.meaning} |" for kind, word in rows)])
