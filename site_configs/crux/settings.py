# SPDX-License-Identifier: Apache-2.0
"""Crux of ALCF, Argonne: PBS Professional, Cray MPICH started by PALS, Lustre. NOT RUN THERE: written from the public
documentation alone.

    export COFFEECUP_ACCOUNT=<project>
    reframe -C site_configs/crux/settings.py --system=crux -c reframe_checks -r --mode=smoke

Sources of the facts, in the repository argonne-lcf/user-guides (https://docs.alcf.anl.gov), August 2026:

    [machine]    docs/crux/index.md: 256 nodes with two EPYC 7742, 128 cores, 256 GB
    [queues]     docs/crux/queueing-and-running-jobs/running-jobs.md: debug 1 to 8 nodes and 2 hours, workq-route 1 to
                 184 nodes and 24 hours, which feeds workq with 10 running jobs of a project; mpiexec with -n, --ppn,
                 --cpu-bind depth and --depth; select=N:system=crux
    [pbs]        docs/running-jobs/index.md: -A, walltime and filesystems are mandatory; place=scatter; nodes are
                 force_exclhost, so nobody else is on them; -k doe
    [compiling]  docs/crux/compiling-and-linking/compiling-and-linking-overview.md: cc of PrgEnv-cray; builds on compute
                 nodes are preferred
    [data]       docs/data-management/data-transfer/using-globus.md and filesystem-and-storage/index.md: Lustre under
                 /eagle/<project>
    [login]      docs/crux/getting-started.md: crux-login-01 and crux-login-02

Uncertain, check before the first run: the directory /eagle/<project>/<user>, which you may have to create.
"""

from pathlib import Path

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

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
        "max_jobs": 1,  # one at a time: the debug nodes are few
        "env_vars": [["OMP_NUM_THREADS", "1"]],
        "extras": {
            "cores_per_node": 128,  # [machine]
            "num_nodes": nodes,
            "max_minutes": minutes,
            "launcher_options": _PALS,
            "file_systems": [{"name": "eagle", "directory": of_account("/eagle/{}/$USER")}],  # [data]
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
            "hostnames": ["^crux-login-"],  # [login]
            "partitions": [
                _partition("debug", "debug", 8, 120),
                _partition("workq", "workq-route", 184, 1440, max_nodes=64),
            ],
        }
    ],
    environments=[{"name": "cray", "cc": "cc", "cxx": "", "ftn": ""}],
)
