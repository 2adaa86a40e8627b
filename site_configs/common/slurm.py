# SPDX-License-Identifier: Apache-2.0
"""What Slurm grants this user: partitions with their kinds of nodes, accounts, QOS and their limits, from scontrol and
sacctmgr."""

import getpass
import grp
import os
import pwd
import re
import subprocess
from collections import defaultdict

from coffeecup.reframe_checks.batch import SECONDS, ask, minutes, option, slurm_cores, slurm_partition, slurm_settings
from coffeecup.reframe_checks.sizes import SMALLEST, powers_of_two

from .frame import ACCOUNT
from .machine import Partition

DEFAULT_QOS = "normal"  # Slurm's own, where an association names none


def partitions():
    """Partition name to its settings, those that are up."""
    return {entry["PartitionName"]: entry for entry in slurm_settings("partitions") if entry["State"] == "UP"}


def partition_of(partition):
    """(name that a configured partition has in `access`, None for Slurm's default one; Slurm's settings of it, None if
    no such partition is up)."""
    name = option(partition.get("access", ()), "-p", "--partition")
    found = slurm_partition(name)
    return name, found if found and found["State"] == "UP" else None


def nodes_of(partition, all_nodes):
    """The nodes of a partition, by its name."""
    return [node for node in all_nodes if partition in node.get("Partitions", "").split(",")]


def features_of(node):
    return set(node.get("AvailableFeatures", "").split(",")) - {"", "(null)"}


def gres_of(node):
    """Generic resources of a node as a job asks for them, like gpu:4; without the sockets that they belong to."""
    return re.sub(r"\([^)]*\)", "", node.get("Gres", "")).strip(",")


def kinds(members):
    """[(feature, nodes)] of a partition's nodes by cores and generic resources. The feature is one that all nodes of
    the kind and no others have; empty if all nodes are equal, None if a kind has no such feature."""
    grouped = defaultdict(list)
    for node in members:
        grouped[slurm_cores(node), gres_of(node)].append(node)
    if len(grouped) == 1:
        return [("", members)]
    found = []
    for kind in grouped.values():
        others = set().union(*(features_of(node) for node in members if node not in kind))
        own = set.intersection(*(features_of(node) for node in kind)) - others
        found.append((min(own, default=None), kind))
    return found


# What the user may do


def table(*command):
    """The rows of sacctmgr as dictionaries; none without accounting."""
    names = command[-1].removeprefix("format=").split(",")
    printed = ask("sacctmgr", "--noheader", "--parsable2", "show", *command) or ""
    return [dict(zip(names, line.split("|"), strict=True)) for line in printed.splitlines()]


def associations():
    """This user's accounts with their QOS and limits; the default account first."""
    user = getpass.getuser()
    default = {row["DefaultAccount"] for row in table("user", user, "format=DefaultAccount")}
    rows = table("association", f"user={user}", "format=Account,Partition,DefaultQOS,QOS,MaxTRES,MaxWall")
    return sorted(rows, key=lambda row: row["Account"] not in default)


def all_qos():
    """Name of a QOS to its limits."""
    return {row["Name"]: row for row in table("qos", "format=Name,MaxTRES,MinTRES,MaxWall")}


def listed(value):
    """The names in a setting like AllowQos; None for ALL."""
    return None if value in (None, "ALL") else value.split(",")


def closed(partition):
    """Why a partition takes no job of this user, whatever the account; empty if it may."""
    groups = listed(partition.get("AllowGroups"))
    own = groups_of_user() if groups else []
    if partition.get("RootOnly") == "YES" and os.geteuid():
        return "only root may submit to it"
    if groups and not set(groups) & set(own):
        return f"it accepts the groups {', '.join(groups)} only, you are in {', '.join(own)}"
    return ""


def groups_of_user():
    """The groups that the user database gives this user, which Slurm reads as well; the number of one without a
    name."""
    user = pwd.getpwuid(os.geteuid())
    return [name_of_group(number) for number in os.getgrouplist(user.pw_name, user.pw_gid)]


def name_of_group(number):
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def reserved():
    """Name of a node to the reservation that keeps it now from jobs that do not name the reservation."""
    kept = {}
    for entry in slurm_settings("reservations"):
        if entry.get("State") == "ACTIVE":
            nodes = (ask("scontrol", "show", "hostnames", entry["Nodes"]) or "").split()
            kept |= dict.fromkeys(nodes, f"reservation {entry['ReservationName']} keeps it until {entry['EndTime']}")
    return kept


def fewest_nodes(partition):
    """Of a job in a partition."""
    return max(1, int(partition["MinNodes"]))


def refused_by_sbatch(partition, options, account):
    """What Slurm says of the smallest job, if it refuses it; empty otherwise, also if it does not answer."""
    asked = [f"--partition={partition['PartitionName']}", *options, *([f"--account={account}"] if account else [])]
    try:
        return refusal(f"--nodes={fewest_nodes(partition)}", "--time=1", *asked, "--wrap=true")
    except (OSError, subprocess.TimeoutExpired):
        return ""


def refusal(*job, folder="."):
    """What `sbatch --test-only` says of a job that it refuses; empty if it accepts the job. It starts nothing."""
    done = subprocess.run(
        ["sbatch", "--test-only", *job], cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS
    )
    lines = [line.removeprefix("sbatch: error: ") for line in done.stderr.strip().splitlines()]
    return ("; ".join(lines) or f"exit code {done.returncode}") if done.returncode else ""


def grant(partition, owned, qos):
    """What this user gets in a partition: the QOS to request, the limits that apply, the account if it is not the
    default one, and the reason if the partition refuses the user. Without accounting, only a closed one does."""
    if reason := closed(partition):
        return "", [], "", reason
    if not owned:
        return "", [], "", ""
    name, accounts, denied = partition["PartitionName"], listed(partition.get("AllowAccounts")), ()
    if accounts is None:
        denied = partition.get("DenyAccounts", "").split(",")
    usable = [
        row
        for row in owned
        if row["Partition"] in ("", name)
        and row["Account"] not in denied
        and (accounts is None or row["Account"] in accounts)
    ]
    if not usable:
        return "", [], "", f"it accepts none of your accounts ({', '.join(row['Account'] for row in owned)})"
    allowed = listed(partition.get("AllowQos"))
    for row in usable:
        default = row["DefaultQOS"] or (DEFAULT_QOS if DEFAULT_QOS in row["QOS"].split(",") else "")
        wanted = [chosen for chosen in (default, *row["QOS"].split(",")) if chosen]
        if chosen := next((chosen for chosen in wanted if allowed is None or chosen in allowed), None):
            limits = [row, *(qos[limit] for limit in (chosen, partition.get("QoS")) if limit in qos)]
            account = row["Account"] if row["Account"] != owned[0]["Account"] else ""
            return "" if chosen == default else chosen, limits, account, ""
    return "", [], "", f"you may use none of its QOS ({partition['AllowQos']})"


def tres(limits, field):
    """A TRES limit, like node=4,gres/gpu=8, as a dictionary."""
    return dict(entry.split("=") for entry in limits.get(field, "").split(",") if "=" in entry)


def smallest(values):
    """The smallest of the limits that are set; 0 without any."""
    return min((value for value in values if value), default=0)


# Partitions of a new site


def of_this_user():
    """(partitions as ReFrame should have them, points to decide)."""
    found, open_points = [], []
    owned, qos, every_node, kept = associations(), all_qos(), slurm_settings("nodes"), reserved()
    open_points += [
        f"partition {partition['PartitionName']} is left out: it is {partition['State']}"
        for partition in slurm_settings("partitions")
        if partition["State"] != "UP"
    ]
    for name, partition in partitions().items():
        chosen, limits, account, refused = grant(partition, owned, qos)
        if partition.get("Hidden") == "YES":  # it takes jobs, but a new site does not need it
            refused = refused or "its administrators hide it"
        members = nodes_of(name, every_node)
        if refused or not members:
            open_points.append(f"partition {name} is left out: {refused or 'it has no nodes'}")
            continue
        split = kinds(members)
        if any(feature is None for feature, _ in split):
            split = [("", members)]
        for feature, kind in split:
            if sum(map(slurm_cores, kind)) < SMALLEST:
                open_points.append(f"nodes {feature or 'all'} of partition {name} are left out: they have one core")
                continue
            options = options_of(kind, feature, chosen, limits)
            stated = os.environ.get(ACCOUNT, "")
            charged = stated or account or next((row["Account"] for row in owned), "")
            said = refused_by_sbatch(partition, options, stated)
            needed = charged != stated and (account or said)
            if needed:
                said = refused_by_sbatch(partition, options, charged)
            if said:
                open_points.append(f"partition {name} is left out: `sbatch --test-only` refuses a job there: {said}")
                continue
            if needed:
                open_points.append(f"partition {name} needs an account: export {ACCOUNT}={charged}")
            busy = {node["NodeName"]: kept[node["NodeName"]] for node in kind if node["NodeName"] in kept}
            open_points += [f"max_nodes of partition {name} leaves out {node}: {busy[node]}" for node in busy]
            found.append(entry(partition, feature, kind, options, limits, len(kind) - len(busy)))
    return found, open_points


def options_of(members, feature, qos, limits):
    """What a job in a partition asks for, besides its name."""
    wants_gres = any(key.startswith("gres/") for limit in limits for key in tres(limit, "MinTRES"))
    gres = gres_of(min(members, key=slurm_cores))
    return (
        *([f"--qos={qos}"] if qos else []),
        *([f"--constraint={feature}"] if feature else []),
        *([f"--gres={gres}"] if wants_gres and gres else []),
    )


def entry(partition, feature, members, options, limits, free):
    """One partition of a new site, in which so many nodes are not reserved."""
    name = partition["PartitionName"]
    largest = smallest(
        [free, count(partition["MaxNodes"]), *(int(tres(limit, "MaxTRES").get("node", 0)) for limit in limits)]
    )
    longest = smallest([minutes(partition["MaxTime"]), *(minutes(limit["MaxWall"]) for limit in limits)])
    cores, fewest = min(map(slurm_cores, members)), fewest_nodes(partition)
    nodes = sorted({fewest, *powers_of_two(largest), largest})
    return Partition(
        re.sub(r"\W", "_", f"{name}_{feature}") if feature else name,
        len(members),
        cores,
        min(int(node["RealMemory"]) for node in members),
        longest,
        several_kinds=len({slurm_cores(node) for node in members}) > 1,
        max_nodes=largest if largest < len(members) else 0,
        sizes=tuple(cores * number for number in nodes if number >= fewest) if fewest > 1 else (),
        queue=name,
        options=options,
    )


def count(value):
    """A number of nodes; 0 for UNLIMITED."""
    return int(value) if value.isdigit() else 0
