# SPDX-License-Identifier: Apache-2.0
"""The partitions on which checks run, and what is known about them: first from an overlay beside the configuration,
then from the configuration itself, then from the scheduler."""

import functools
import re
import shutil
from pathlib import Path
from typing import NoReturn

from reframe.core import settings
from reframe.core.logging import getlogger
from reframe.core.runtime import runtime

from coffeecup.postprocess import reframe_version  # noqa: F401
from coffeecup.postprocess.logs.trees import parsed

from . import batch
from .paths import LOCAL_CONFIGURATION
from .vocabulary import OVERLAY, Extra, Feature, schema_error

SUBMITTING = ("sbatch", "qsub", "flux", "bsub")  # a machine that has one of them may be a login node


def refuse(what) -> NoReturn:
    """Ends the session with one sentence; ReFrame shows an exception with its stack, or merely skips a check."""
    raise SystemExit(f"coffeecup: {what}")


@functools.cache
def say(what):
    """Prints a message once."""
    getlogger().info(f"coffeecup: {what}")


@functools.cache
def compute_partitions():
    """The selected system's partitions for computing. A partition without a scheduler is a login node if another one of
    its system has one."""
    system = runtime().system
    _refuse_a_login_node_without_configuration(system)
    _refuse_a_directory_that_no_job_script_can_have()
    with_scheduler = [partition["name"] for partition in _configured() if partition["scheduler"] != "local"]
    login = [
        partition
        for partition in system.partitions
        if Feature.LOGIN in features_of(partition) or (partition.scheduler.is_local and with_scheduler)
    ]
    found = [partition for partition in system.partitions if partition not in login]
    names = ", ".join(partition.fullname for partition in login)
    if not found:
        refuse(f"no check runs on login nodes ({names}): choose another partition of system {system.name!r}")
    if login:
        say(f"no check runs on login nodes: skipping {names}")
    return found


def _refuse_a_login_node_without_configuration(system):
    """ReFrame's built-in system, which it takes without a configuration of this host, runs everything here."""
    of_reframe = settings.site_configuration["systems"][0]
    found = next(filter(shutil.which, SUBMITTING), None)
    if found and (system.name, system.descr) == (of_reframe["name"], of_reframe["descr"]):
        refuse(
            f"no check runs here: this machine has `{found}` and may be a login node, but ReFrame has no configuration "
            "of it; write one with `coffeecup site new NAME`, or use that of your centre with `-C FILE` (`coffeecup "
            "site overlay` adds what it lacks); to run on this machine all the same, use "
            f"`-C {LOCAL_CONFIGURATION}`"
        )


def _refuse_a_directory_that_no_job_script_can_have():
    """ReFrame splits the command of each build, which is a path, at blanks."""
    if re.search(r"[^\w@%+=:,./~-]", stage := runtime().stage_prefix):
        refuse(
            f"ReFrame runs no jobs in {stage!r}: choose a directory without blanks and without characters that are "
            "special in a shell, with `--prefix=DIRECTORY`; the checkout may have any name"
        )


def _configured():
    """All partitions of the system in its configuration, those that `--system` left out, too."""
    configuration = runtime().site_config
    selected = configuration.subconfig_system
    configuration.select_subconfig(runtime().system.name, ignore_resolve_errors=True)
    try:
        return configuration.get("systems/0/partitions")
    finally:
        configuration.select_subconfig(selected, ignore_resolve_errors=True)


def overlay_path(configuration, name):
    """Where the overlay of the system with this name lies: beside the configuration."""
    return Path(configuration).resolve().with_name(f"{name}.coffeecup.yaml")


@functools.cache
def overlay():
    """Partition name to its entry in the overlay of the system, empty if there is none."""
    system = runtime().system
    found = [path for source in runtime().site_config.sources if (path := overlay_path(source, system.name)).is_file()]
    if not found:
        return {}
    path = found[-1]  # beside the configuration that was read last
    try:
        content, _ = parsed(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        refuse(f"overlay {path}: cannot be read: {' '.join(str(error).split())}")
    if error := schema_error(OVERLAY, content):
        refuse(f"overlay {path}{error}")
    known = {partition["name"]: partition["environs"] for partition in _configured()}
    for name, entry in content["partitions"].items():
        if name not in known:
            refuse(f"overlay {path}: system {system.name!r} has no partition {name!r}: there are {', '.join(known)}")
        if other := set(entry.get("environs", ())) - set(known[name]):
            refuse(
                f"overlay {path}: partition {name!r} has no environment {min(other)!r}: there are "
                f"{', '.join(known[name])}"
            )
    return content["partitions"]


def overlaid(partition, key, default=()):
    """What the overlay says about a partition under a key."""
    return overlay().get(partition.name, {}).get(key, default)


@functools.cache
def extras_of(partition):
    """The extras of a partition, with the facts that the scheduler knows where nothing else states them."""
    extras = {**partition.extras, **overlaid(partition, "extras", {})}
    for extra in sorted(set(Extra) & set(extras)):
        if error := schema_error(Extra(extra).schema, extras[extra]):
            refuse(f"partition {partition.fullname!r}: extra {extra!r}{error}")
    cores = Extra.CORES_PER_NODE in extras or partition.processor.num_cores
    nodes = Extra.NUM_NODES in extras or Extra.SIZES in extras
    if partition.scheduler.is_local or (nodes and cores):
        return extras
    return {**batch.facts(partition), **extras}


def features_of(partition):
    """The features of a partition."""
    return {*partition.features, *overlaid(partition, "features")}
