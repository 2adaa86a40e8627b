# SPDX-License-Identifier: Apache-2.0
"""Whether Slurm accepts the job scripts of a dry run: time limits, and what `sbatch --test-only` says. That command
starts nothing; it does not compare limits, QOS of a partition and generic resources (slurm_check.py does)."""

import re
import subprocess
from pathlib import Path

from coffeecup.reframe_checks.batch import minutes

from . import slurm

SLURM = ("slurm", "squeue")
UNTRIED = (
    "job scripts were generated and not tried: {} has no command for that, and its queues, limits and nodes were not "
    "compared with the configuration; read a script, or let --submit try one"
)
# What sbatch says of a job script, and what to change.
REMEDIES = {
    "Invalid qos": "put a QOS of yours into `access` as --qos=NAME: {qos}",
    "account": "set COFFEECUP_ACCOUNT to an account of yours: {accounts}",
    "Invalid feature": "correct --constraint in `access`: `scontrol show node` lists features",
    "Invalid generic resource": "correct --gres in `access`: `scontrol show node` lists resources",
    "invalid partition": "correct --partition in `access`: `sinfo` lists partitions",
    "Requested node configuration": "correct num_nodes, max_nodes and cores_per_node; see `scontrol show partition`, "
    "`scontrol show reservation` for nodes that are kept for others, and `sinfo -R` for nodes that are down",
}


def findings(site, system, cases):
    """(level, place, what, remedy) on the job scripts of one system's cases."""
    for full_name, partition in site.partitions():
        name, _, own = full_name.partition(":")
        if name != system or partition["scheduler"] == "local":
            continue
        if partition["scheduler"] not in SLURM:
            yield "note", f"partition {full_name}", UNTRIED.format(partition["scheduler"])
            continue
        scripts = [
            (case["name"], Path(case["stagedir"], "rfm_job.sh"))
            for case in cases
            if case["partition"] == own and case["result"] != "skip"
        ]
        _, found = slurm.partition_of(partition)
        too_long = list(of_time(full_name, found, scripts)) if found else []
        refused = too_long or list(of_sbatch(full_name, scripts))
        yield from refused
        if scripts and not refused:
            yield "ok", f"partition {full_name}", f"sbatch --test-only accepts {len(scripts)} job scripts"


def of_time(full_name, partition, scripts):
    """Checks whose jobs would wait forever, because the partition ends jobs earlier."""
    longest = minutes(partition["MaxTime"])
    needs = {}
    for case, script in scripts:
        asked = re.search(r"^#SBATCH --time=(\S+)", script.read_text(encoding="utf-8"), re.MULTILINE)
        check = case.split(" ")[0]
        needs[check] = max(needs.get(check, 0), minutes(asked[1]) if asked else 0)
    for check, needed in needs.items():
        if longest and needed > longest:
            yield (
                "refused",
                f"{check} on {full_name}",
                f"asks for {needed} minutes, {needed - longest} more than Slurm's partition "
                f"{partition['PartitionName']!r} grants ({longest})",
                f"set max_minutes to {longest}, so that the check is skipped there",
            )


def of_sbatch(full_name, scripts):
    """The first job script that sbatch refuses for each reason."""
    reasons = {}
    for case, script in scripts:
        try:
            reason = slurm.refusal(script.name, folder=script.parent)
        except subprocess.TimeoutExpired:
            yield (
                "refused",
                f"{case} on {full_name}",
                f"sbatch --test-only does not answer within {slurm.SECONDS} s",
                "check whether slurmctld is running: sinfo",
            )
            break
        if reason:
            reasons.setdefault(reason, []).append(case)
    for reason, refused in reasons.items():
        yield (
            "refused",
            f"{refused[0]} on {full_name}",
            f"sbatch --test-only refuses {len(refused)} of {len(scripts)} job scripts: {reason}",
            remedy(reason),
        )


def remedy(reason):
    """What to do about the reason for which the scheduler refused a job."""
    owned = slurm.associations()
    names = {
        "accounts": ", ".join(dict.fromkeys(row["Account"] for row in owned)) or "see `sacctmgr show association`",
        "qos": ", ".join(dict.fromkeys(qos for row in owned for qos in row["QOS"].split(",")))
        or "see `sacctmgr show association`",
    }
    text = next((text for words, text in REMEDIES.items() if words in reason), "compare with `scontrol show partition`")
    return text.format(**names)
