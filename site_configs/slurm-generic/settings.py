# SPDX-License-Identifier: Apache-2.0
"""Any machine under Slurm, to copy and fill in; `coffeecup site new` writes such a file from what it finds on the
machine.

Sources of the facts: none, they describe a made-up cluster of 16 nodes. Commands that print yours:

    nodes, cores, time limit     sinfo --format='%P %D %c %X %Y %l' (%X sockets of %Y cores; %c counts hardware threads)
    accounting                   sacct (scheduler `slurm` where it answers, else `squeue`)
    what srun can start          srun --mpi=list (launcher `srun` where your MPI is there, else `mpirun`)
    file systems                 df --type=lustre --type=gpfs --type=beegfs --type=nfs4
    licences of file systems     scontrol show licenses
"""

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import charged_to, configuration

site_configuration = configuration(
    folder="slurm-generic",
    systems=[
        {
            "name": "slurm-generic",
            "descr": "a cluster under Slurm",
            "hostnames": ["^$"],  # yours, as a regular expression: then --system can be left out
            "partitions": [
                {
                    "name": "compute",
                    "scheduler": "slurm",
                    "sched_options": {"use_nodes_option": True},
                    "launcher": "srun",
                    "access": [
                        "--partition=compute",
                        "--mem=0",  # all memory of the nodes
                        *charged_to("--account={}"),
                    ],
                    "environs": ["mpi"],
                    "max_jobs": 8,
                    "env_vars": [["OMP_NUM_THREADS", "1"]],
                    "extras": {
                        "cores_per_node": 64,
                        "num_nodes": 16,
                        "max_minutes": 1440,
                        "file_systems": [
                            {"name": "scratch", "directory": "/scratch/$USER", "options": ["--licenses=scratch"]},
                            {"name": "project", "directory": "/project/$USER"},
                        ],
                    },
                }
            ],
        }
    ],
    environments=[{"name": "mpi", "cc": "mpicc", "cxx": "", "ftn": ""}],
)
