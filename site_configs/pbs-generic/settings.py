# SPDX-License-Identifier: Apache-2.0
"""Any machine under OpenPBS or PBS Professional, to copy and fill in; `coffeecup site new` writes such a file from what
it finds.

Sources of the facts: none, they describe a made-up cluster of 16 nodes. Commands that print yours:

    queues and their limits      qstat -Qf
    nodes, cores, memory         pbsnodes -av (resources_available.ncpus may count hardware threads)
    file systems                 df --type=lustre --type=gpfs --type=beegfs --type=nfs4

ReFrame requests whole nodes from PBS by `ncpus` and `mpiprocs`. It has no option for exclusive nodes there, so `place`
requests them.
"""

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import charged_to, configuration

site_configuration = configuration(
    folder="pbs-generic",
    systems=[
        {
            "name": "pbs-generic",
            "descr": "a cluster under PBS",
            "hostnames": ["^$"],  # yours, as a regular expression: then --system can be left out
            "partitions": [
                {
                    "name": "workq",
                    "scheduler": "pbspro",
                    "launcher": "mpirun",
                    "access": ["-q workq", "-l place=scatter:excl", "mem=240gb", *charged_to("-A {}")],
                    "environs": ["mpi"],
                    "max_jobs": 8,
                    "env_vars": [["OMP_NUM_THREADS", "1"]],
                    "extras": {
                        "cores_per_node": 64,
                        "num_nodes": 16,
                        "max_minutes": 1440,
                        "file_systems": [
                            {"name": "scratch", "directory": "/scratch/$USER"},
                            {"name": "project", "directory": "/project/$USER"},
                        ],
                    },
                }
            ],
        }
    ],
    environments=[{"name": "mpi", "cc": "mpicc", "cxx": "", "ftn": ""}],
)
