# SPDX-License-Identifier: Apache-2.0
"""ARCHER2 of EPCC, Edinburgh: Slurm, Cray MPICH, Lustre. NOT RUN THERE: written from the public documentation alone.
The service was to end on 21 November 2026 [end]; the file remains as an example of a Cray EX with Slurm.

    export COFFEECUP_ACCOUNT=<budget code>
    reframe -C site_configs/archer2/settings.py --system=archer2 -c reframe_checks -r --mode=smoke

Sources of the facts, in the repository ARCHER2-HPC/archer2-docs (https://docs.archer2.ac.uk), June 2026:

    [hardware]   docs/user-guide/hardware.md: 5860 nodes of 128 cores; 256 GB, of 584 nodes 512 GB
    [scheduler]  docs/user-guide/scheduler.md: partitions, QoS with their limits, nodes always exclusive with all of
                 their memory, srun with --distribution=block:block --hint=nomultithread, and its first example of a
                 job script
    [data]       docs/user-guide/data.md: compute nodes see the work file systems and the solid state (NVMe) one, not
                 the home file systems; both Lustre. Projects have access to the solid state one on request only:
                 without it, choose with -P b_eff_io.file_system=work
    [energy]     docs/user-guide/energy.md: jobs run at 2.0 GHz by default; 2250000 enables turbo boost, too; only the
                 option of srun is reliable
    [end]        docs/end-of-service-2026/index.md

Uncertain, check before the first run: whether the default PrgEnv is the one that you want to measure.
"""

from pathlib import Path

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import charged_to, configuration, of_account

_ALWAYS = [["OMP_NUM_THREADS", "1"], ["SRUN_CPUS_PER_TASK", "1"]]  # [scheduler], the example
_BLOCK = ["--distribution=block:block", "--hint=nomultithread"]  # [scheduler], "srun: Launching parallel jobs"
_FREQUENCY = ["--cpu-freq=2000000"]  # kHz [energy]: stated, because a changed default would look like a regression


def _partition(name, descr, partition, qos, **extras):
    return {
        "name": name,
        "descr": descr,
        "scheduler": "slurm",
        "sched_options": {"use_nodes_option": True},
        "launcher": "srun",
        "access": [f"--partition={partition}", f"--qos={qos}", "--cpus-per-task=1", *charged_to("--account={}")],
        "environs": ["cray"],
        "max_jobs": 4,
        "env_vars": _ALWAYS,
        "extras": {
            "cores_per_node": 128,  # [hardware]
            "launcher_options": [*_BLOCK, *_FREQUENCY],
            "placements": {"block": [], "round_robin": ["--distribution=cyclic:block"]},  # the last one applies
            "file_systems": [  # [data]; the project's code
                {"name": "work", "directory": of_account("/work/{0}/{0}/$USER")},
                {"name": "nvme", "directory": of_account("/mnt/lustre/a2fs-nvme/work/{0}/{0}/$USER")},
            ],
            "spack_environment": str(Path(__file__).with_name("spack.yaml")),
            **extras,
        },
    }


site_configuration = configuration(
    folder="archer2",
    systems=[
        {
            "name": "archer2",
            "descr": "ARCHER2, HPE Cray EX",
            "hostnames": ["^ln[0-9]+$"],  # [scheduler]: the prompts of its examples
            "partitions": [
                # num_nodes is [scheduler] "Partitions"; the QoS allow more than max_nodes, which spares your budget
                _partition(
                    "standard",
                    "two EPYC 7742, 256 or 512 GB",
                    "standard",
                    "standard",
                    num_nodes=5860,
                    max_nodes=64,
                    max_minutes=1440,
                ),
                _partition(
                    "highmem",
                    "two EPYC 7742, 512 GB",
                    "highmem",
                    "highmem",
                    num_nodes=584,
                    max_nodes=16,
                    max_minutes=1440,
                ),
                _partition("short", "for tests", "standard", "short", num_nodes=5860, max_nodes=4, max_minutes=20),
            ],
        }
    ],
    environments=[{"name": "cray", "cc": "cc", "cxx": "", "ftn": ""}],
)
