"""The features and extras of a partition that checks may ask for, and the only place that spells them.

site_configs/README.md holds the same table for people; tests/test_sites.py compares the two.
"""


class Feature:
    """Names for a partition's `features`."""

    OVERCOMMIT = "overcommit"
    LOGIN = "login"


class Extra:
    """Names for a partition's `extras`."""

    CORES_PER_NODE = "cores_per_node"
    NUM_NODES = "num_nodes"
    MAX_NODES = "max_nodes"
    SPACK_ENVIRONMENT = "spack_environment"
    SPACK_MPI = "spack_mpi"
    CMAKE_OPTIONS = "cmake_options"
    KERNELS = "kernels"
    KERNEL_OPTIONS = "kernel_options"
    SIZES = "sizes"
    IO_DIRECTORY = "io_directory"


def names_of(vocabulary):
    """All names that a vocabulary class defines."""
    return {value for key, value in vars(vocabulary).items() if key.isupper()}
