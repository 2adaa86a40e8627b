# SPDX-License-Identifier: Apache-2.0
"""What the scheduler says about a partition of a configuration that does not state its nodes and cores."""

import functools
import json
import re
import subprocess
from argparse import ArgumentParser
from itertools import chain
from shlex import split

from reframe.core.exceptions import ReframeError
from reframe.core.schedulers import Job

from coffeecup.postprocess import reframe_version  # noqa: F401

from .vocabulary import Extra

SECONDS = 30  # for a command to answer
UNLIMITED = "UNLIMITED"


def ask(*command, **more):
    """Standard output of a command; None if it is missing, fails or does not answer."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, **{"timeout": SECONDS, **more})
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def facts(partition):
    """Extras of a ReFrame partition that its scheduler knows; empty for a scheduler that cannot be asked."""
    kind = partition.scheduler.registered_name
    if kind in ("slurm", "squeue"):
        return of_slurm(partition)
    if kind in ("pbs", "pbspro"):
        return of_pbs(partition)
    return {}


@functools.cache
def version(scheduler):
    """Name and version of a scheduler of ReFrame's, such as "slurm-22.05.8"; None if no command states it."""
    commands = {"slurm": "sinfo", "squeue": "sinfo", "pbs": "qstat", "torque": "qstat", "flux": "flux"}
    stated = ask(commands[scheduler], "--version") if scheduler in commands else None
    number = re.search(r"\d+(\.\d+)+", stated or "")
    return f"{scheduler.replace('squeue', 'slurm')}-{number[0]}" if number else None


def energy(partition, job):
    """What Slurm's plug-in counted in each step of a job, step to joules; empty without accounting or such a plug-in,
    which sacct shows as 0, as nothing, or as one of Slurm's numbers for no value."""
    if partition.scheduler.registered_name != "slurm":
        return {}
    printed = ask("sacct", "--noheader", "--parsable2", f"--jobs={job.jobid}", "--format=JobID,ConsumedEnergyRaw")
    rows = (line.split("|") for line in (printed or "").splitlines())
    counted = {name.partition(".")[2]: int(joules) for name, joules in rows if "." in name and joules.isdecimal()}
    return {step: joules for step, joules in counted.items() if joules not in (0, 2**32 - 2, 2**64 - 2)}


def option(access, *names):
    """The value of an option in a partition's `access`, in any of its forms: `-p NAME`, `-pNAME`, `--partition=NAME` or
    `--partition NAME`; None if it is not there."""
    parser = ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument(*names, dest="value")
    return parser.parse_known_args(list(chain.from_iterable(map(split, access))))[0].value


# Slurm


def of_slurm(partition):
    """Nodes that the options in `access` leave, cores of the smallest of them, and the partition's limits."""
    limits = slurm_partition(option(partition.access, "-p", "--partition"))
    if limits is None:
        return {}
    access = [*partition.access, f"--partition={limits['PartitionName']}"]  # of several, ReFrame wants nodes in all
    try:
        scheduler = partition.scheduler
        job = Job.create(scheduler, partition.launcher_type(), name="coffeecup", sched_access=access)
        nodes = scheduler.filternodes(job, slurm_nodes(scheduler))
    except ReframeError:
        return {}
    if not nodes:
        return {}
    cores = min(slurm_cores(slurm_fields(node.descr)) for node in nodes)
    found = {Extra.NUM_NODES: len(nodes), Extra.CORES_PER_NODE: cores}
    if limits["MaxNodes"] != UNLIMITED:
        found[Extra.MAX_NODES] = int(limits["MaxNodes"])
    if limits["MaxTime"] != UNLIMITED:
        found[Extra.MAX_MINUTES] = minutes(limits["MaxTime"])
    return found


@functools.cache
def slurm_nodes(scheduler):
    """ReFrame's descriptions of all nodes."""
    return scheduler.allnodes()


def slurm_partition(name):
    """Settings of a partition, of the default one without a name; None if Slurm has no such partition. Of several
    names, Slurm chooses one: the first stands for them."""
    for settings in slurm_settings("partitions"):
        if settings["PartitionName"] == name.split(",")[0] if name else settings["Default"] == "YES":
            return settings
    return None


@functools.cache
def slurm_settings(what):
    """A dictionary for each of Slurm's `partitions` or `nodes`."""
    printed = ask("scontrol", "-a", "show", "-o", what) or ""
    return [slurm_fields(line) for line in printed.splitlines()]


def slurm_fields(description):
    """What `scontrol show` prints about one partition or node, as a dictionary."""
    return dict(re.findall(r"(\w+)=(\S*)", description))


def slurm_idle(*options):
    """Names of the nodes on which a job would start now, of those that these options of sinfo select. Nodes that save
    power, are reserved or planned for another job are not idle."""
    printed = ask("sinfo", "--noheader", "--Node", "--responding", "--format=%N %t", *options) or ""
    return sorted({name for name, state in map(str.split, printed.splitlines()) if state == "idle"})


def slurm_cores(node):
    """Cores of a node that jobs may use."""
    return int(node["Sockets"]) * int(node["CoresPerSocket"]) - int(node.get("CoreSpecCount", 0))


# PBS


def of_pbs(partition):
    """Nodes, cores and time limit of the queue that `access` names, of PBS' default queue if it names none."""
    queue = pbs_queues().get(option(partition.access, "-q") or pbs_default_queue())
    if queue is None:
        return {}
    found = {Extra.NUM_NODES: queue["nodes"], Extra.CORES_PER_NODE: queue["cores_per_node"]}
    return {**found, Extra.MAX_MINUTES: queue["minutes"]} if queue["minutes"] else found


def pbs_json(what, *command):
    """The objects that a command of PBS lists as `what`; empty if it does not answer with JSON."""
    try:
        return json.loads(ask(*command, "-F", "json") or "{}").get(what, {})
    except json.JSONDecodeError:
        return {}


@functools.cache
def pbs_default_queue():
    """The queue of jobs that name none; None if the server has no such queue or does not answer."""
    servers = pbs_json("Server", "qstat", "-Bf").values()
    return next((server["default_queue"] for server in servers if "default_queue" in server), None)


@functools.cache
def pbs_queues():
    """Queue name to nodes, cores and MiB of the smallest node, minutes (0: no limit) and whether nodes differ.

    From qstat and pbsnodes: queues that are started and execute, each with all nodes, unless nodes belong to it alone.
    """
    queues, nodes = pbs_json("Queue", "qstat", "-Qf"), pbs_json("nodes", "pbsnodes", "-a")
    found = {}
    for name, queue in queues.items():
        if queue.get("queue_type") != "Execution" or queue.get("started") != "True" or queue.get("enabled") != "True":
            continue
        own = [node for node in nodes.values() if node.get("queue") == name] or [
            node for node in nodes.values() if "queue" not in node
        ]
        resources = [node["resources_available"] for node in own]
        kinds = {(int(has.get("ncpus", 1)), kib(has.get("mem", "0kb")) // 1024) for has in resources}
        if kinds:
            cores, memory = min(kinds)
            limit = minutes(queue.get("resources_max", {}).get("walltime", ""))
            found[name] = {
                "nodes": len(own),
                "cores_per_node": cores,
                "memory_mib": memory,
                "minutes": limit,
                "several_kinds": len(kinds) > 1,
            }
    return found


# Units


def kib(text):
    """Of PBS' sizes, like 263828272kb or 250gb."""
    parts = re.fullmatch(r"(\d+)([kmgt]?)b", str(text))
    value, unit = parts.groups()  # pyright: ignore[reportOptionalMemberAccess]: PBS writes no other form
    return int(value) * {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}[unit] // 2**10


def minutes(limit):
    """Of a time limit like 1-00:00:00, 24:00:00 or 30:00; 0 for none."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", limit)
    if not found:
        return 0
    days, hours, mins, _ = (int(part or 0) for part in found.groups())
    return (days * 24 + hours) * 60 + mins
