# SPDX-License-Identifier: Apache-2.0
"""What tests of checks hand to ReFrame: values of variables, configurations and files of references."""

import pprint

import yaml

HERE = {"scheduler": "local", "launcher": "local", "environs": ["mpi"]}


def values(*settings):
    """Options that set variables of checks, each as `variable=value`."""
    return [word for setting in settings for word in ("-S", setting)]


def prebuilt(folder):
    """Options for kernels that are in a folder."""
    return values("builder=prebuilt", f"prebuilt_directory={folder}")


WITH_MPI = {"name": "mpi", "features": ["mpi"], "cc": "mpicc"}


def configuration(folder, *partitions, environments=(WITH_MPI,), of="made", **more):
    """Writes the settings of a system of these partitions, which are of this machine unless they state a scheduler;
    `more` is of the system."""
    named = [HERE | {"name": f"p{number}"} | partition for number, partition in enumerate(partitions)]
    system = {"name": of, "hostnames": [".*"], "partitions": named} | more
    settings = {"systems": [system], "environments": list(environments)}
    path = folder / "settings.py"
    path.write_text(f"site_configuration = {pprint.pformat(settings)}\n")
    return path


def references(folder, benchmark, entries, index=("$partition", "file_system", "num_processes")):
    """Writes a file of references with these entries; the options that choose it."""
    path = folder / "references.yaml"
    content = {"_meta": {"provenance": "a test"}, benchmark: {"$index": list(index)} | entries}
    path.write_text(yaml.safe_dump(content))
    return values(f"{benchmark}.reference_file={path}")


def only_case(session):
    [case] = session.cases
    return case
