# SPDX-License-Identifier: Apache-2.0
"""Roihu of CSC, Finland, the CPU nodes: Slurm, Open MPI, Lustre. NOT RUN THERE: written from the public documentation
alone.

    export COFFEECUP_ACCOUNT=<project>
    reframe -C site_configs/roihu/settings.py --system=roihu -c reframe_checks -r --mode=smoke

Sources of the facts, in the repository CSCfi/csc-user-guide (https://docs.csc.fi), August 2026:

    [system]      docs/computing/systems-roihu.md: 414 nodes M of 2 x 192 cores and 768 GiB; two Lustre file systems,
                  Scratch and Home
    [partitions]  docs/computing/running/batch-job-partitions.md: test 1 to 2 nodes and 15 minutes, medium 1 to 6 nodes
                  and 36 hours, large 6 to 60 nodes and 36 hours, 744 GiB for jobs; medium and large give full nodes
                  only
    [scripts]     docs/computing/running/creating-job-scripts-roihu.md and example-job-scripts-roihu.md: --account is
                  mandatory; full nodes with --nodes, --ntasks-per-node=384 --cpus-per-task=1 and --hint=nomultithread;
                  srun, not mpirun
    [compiling]   docs/computing/compiling-roihu.md: Open MPI and GNU compilers are loaded by default; build on the CPU
                  login nodes
    [disk]        docs/computing/roihu-disk.md: /scratch/<project>, in it a directory of your own, $USER; by default a
                  project has 250 GiB and 500 000 files there, less than the largest runs of I/O checks write
    [login]       docs/computing/connecting/index.md: roihu-cpu-login1 to roihu-cpu-login4
"""

from pathlib import Path

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import charged_to, configuration, of_account

CORES = 384  # [system]


def _partition(name, nodes, **extras):
    return {
        "name": name,
        "scheduler": "slurm",
        "sched_options": {"use_nodes_option": True},
        "launcher": "srun",
        "access": [
            f"--partition={name}",
            "--cpus-per-task=1",
            "--hint=nomultithread",
            "--mem=744G",
            *charged_to("--account={}"),
        ],
        "environs": ["gnu"],
        "max_jobs": 4,
        "env_vars": [["OMP_NUM_THREADS", "1"]],
        "extras": {
            "cores_per_node": CORES,
            "num_nodes": nodes,
            "file_systems": [{"name": "scratch", "directory": of_account("/scratch/{}/$USER")}],  # [disk]
            "spack_environment": str(Path(__file__).with_name("spack.yaml")),
            **extras,
        },
    }


site_configuration = configuration(
    folder="roihu",
    systems=[
        {
            "name": "roihu",
            "descr": "Roihu, CPU nodes: two AMD Turin 9965",
            "hostnames": ["^roihu-cpu-login[0-9]"],  # [login]
            "partitions": [
                _partition("test", 2, max_minutes=15, sizes=[CORES, 2 * CORES]),
                _partition("medium", 6, max_minutes=2160),
                _partition("large", 60, max_minutes=2160, sizes=[nodes * CORES for nodes in (8, 16, 32, 60)]),
            ],
        }
    ],
    environments=[{"name": "gnu", "cc": "mpicc", "cxx": "", "ftn": ""}],
)
