# SPDX-License-Identifier: Apache-2.0
"""Compares a partition of a site's configuration with what Slurm has and what it grants this user."""

from coffeecup.reframe_checks.batch import minutes, option, slurm_settings
from coffeecup.reframe_checks.vocabulary import Extra

from . import slurm


def findings(partition):
    """(what, remedy) of every problem of a partition."""
    known = slurm.partitions()
    if not known:
        yield "scontrol lists no partition that is up", "check whether slurmctld is running: sinfo"
        return
    asked, found = slurm.partition_of(partition)
    if found is None:
        yield (
            f"Slurm has no partition {asked!r}" if asked else "Slurm has no default partition",
            f"put one of {', '.join(known)} into `access`",
        )
        return
    extras = partition.get("extras", {})
    yield from of_nodes(partition, extras, found)
    yield from of_limits(extras, found)
    yield from of_grant(partition, found)


def of_nodes(partition, extras, found):
    """Nodes and cores against the nodes that fulfil `--constraint`."""
    name, constraint = found["PartitionName"], option(partition.get("access", ()), "-C", "--constraint")
    members = slurm.nodes_of(name, slurm_settings("nodes"))
    if constraint and all(character.isalnum() or character in "_-" for character in constraint):
        members = [node for node in members if constraint in slurm.features_of(node)]
        name += f" with {constraint}"
    wanted, cores = extras.get(Extra.NUM_NODES, 1), extras.get(Extra.CORES_PER_NODE, 1)
    wide = [node for node in members if int(node["CPUTot"]) >= cores]
    if not wide:
        most = max((int(node["CPUTot"]) for node in members), default=0)
        yield (
            f"{Extra.CORES_PER_NODE} is {cores}, but Slurm's partition {name!r} has {most} cores on each node",
            f"correct {Extra.CORES_PER_NODE}",
        )
    elif wanted > len(members):
        yield (
            f"{Extra.NUM_NODES} is {wanted}, but Slurm's partition {name!r} has {len(members)} nodes",
            f"correct {Extra.NUM_NODES}",
        )
    elif wanted > len(wide):
        yield (
            f"{Extra.NUM_NODES} is {wanted}, but only {len(wide)} nodes of Slurm's partition {name!r} have {cores} "
            "cores",
            f"lower {Extra.NUM_NODES} to {len(wide)}, or choose nodes of one kind with --constraint in `access`",
        )


def of_limits(extras, found):
    """The largest job and the longest one."""
    name = found["PartitionName"]
    nodes = extras.get(Extra.NUM_NODES, 1)
    used, allowed = min(nodes, extras.get(Extra.MAX_NODES, nodes)), slurm.count(found["MaxNodes"])
    if allowed and used > allowed:
        yield (
            f"checks take up to {used} nodes, but a job in Slurm's partition {name!r} may take {allowed}",
            f"set {Extra.MAX_NODES} to {allowed}",
        )
    longest, stated = minutes(found["MaxTime"]), extras.get(Extra.MAX_MINUTES)
    if longest and stated and stated > longest:
        yield (
            f"{Extra.MAX_MINUTES} is {stated}, but Slurm's partition {name!r} ends jobs after {longest} minutes",
            f"set {Extra.MAX_MINUTES} to {longest}",
        )


def of_grant(partition, found):
    """QOS and generic resources, which `sbatch --test-only` does not compare."""
    owned, qos = slurm.associations(), slurm.all_qos()
    chosen, limits, _, refused = slurm.grant(found, owned, qos)
    name = found["PartitionName"]
    if refused:
        yield f"Slurm's partition {name!r} does not run your jobs: {refused}", "remove it, or apply for access"
        return
    asked = option(partition.get("access", ()), "-q", "--qos")
    allowed = slurm.listed(found.get("AllowQos"))
    if chosen and allowed and asked not in allowed:
        yield (
            f"Slurm's partition {name!r} does not accept {f'QOS {asked!r}' if asked else 'your default QOS'}",
            f"add --qos={chosen} to `access`",
        )
        return
    required = [key for limit in limits for key in slurm.tres(limit, "MinTRES") if key.startswith("gres/")]
    if required and not any(
        option(partition.get("access", ()), name) for name in ("--gres", "--gpus", "--gpus-per-node")
    ):
        yield (
            f"Slurm's partition {name!r} requires {', '.join(required)} of each job",
            f"add --gres={required[0].removeprefix('gres/')}:NUMBER to `access`",
        )
