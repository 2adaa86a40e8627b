# SPDX-License-Identifier: Apache-2.0
"""Crux of ALCF, Argonne: PBS Professional, Cray MPICH started by PALS, Lustre. NOT RUN THERE: written from the public
documentation alone.

    export COFFEECUP_ACCOUNT=<project>
    reframe -C site_configs/crux/settings.py --system=crux -c reframe_checks -r --mode=smoke

Sources of the facts, in the repository argonne-lcf/user-guides (https://docs.alcf.anl.gov):

    [machine]    docs/crux/hardware-overview/machine-overview.md: two EPYC 7742, 128 cores, 256 GB
    [queues]     docs/crux/queueing-and-running-jobs/running-jobs.md: debug 1 to 4 nodes and 2 hours, workq-route 1 to
    176 nodes and 24
                 hours; mpiexec with -n, --ppn, --cpu-bind depth and --depth; select=N:system=crux
    [pbs]        docs/running-jobs/index.md: -A, walltime and filesystems are mandatory; place=scatter; nodes are
    force_exclhost, so
                 nobody else is on them; -k doe
    [compiling]  docs/crux/compiling-and-linking/compiling-and-linking-overview.md: cc of PrgEnv-cray; builds on compute
    nodes are preferred

Uncertain, check before the first run: /eagle/<project>/<user>; names of login nodes.
"""

from pathlib import Path

from ..common.frame import charged_to, configuration, of_account

_PALS = ["--ppn {num_tasks_per_node}", "--cpu-bind depth", "--depth 1"]  # [queues]; a process on each core


def _partition(name, queue, nodes, minutes, **extras):
    return {
        "name": name,
        "scheduler": "pbspro",
        "launcher": "mpiexec",
        "access": [
            f"-q {queue}",
            "system=crux",
            "-l place=scatter",
            "-l filesystems=home:eagle",
            "-k doe",
            *charged_to("-A {}"),
        ],
        "environs": ["cray"],
        "max_jobs": 1,  # [queues]: of debug; others take more
        "env_vars": [["OMP_NUM_THREADS", "1"]],
        "extras": {
            "cores_per_node": 128,  # [machine]
            "num_nodes": nodes,
            "max_minutes": minutes,
            "launcher_options": _PALS,
            "file_systems": [{"name": "eagle", "directory": of_account("/eagle/{}/$USER")}],
            "spack_environment": str(Path(__file__).with_name("spack.yaml")),
            **extras,
        },
    }


site_configuration = configuration(
    folder="crux",
    systems=[
        {
            "name": "crux",
            "descr": "Crux, HPE Cray EX: two EPYC 7742",
            "hostnames": ["^crux-login-"],  # [queues] and docs/crux/getting-started.md
            "partitions": [
                _partition("debug", "debug", 4, 120),
                _partition("workq", "workq-route", 176, 1440, max_nodes=64),
            ],
        }
    ],
    environments=[{"name": "cray", "cc": "cc", "cxx": "", "ftn": ""}],
)
