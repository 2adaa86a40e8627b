# SPDX-License-Identifier: Apache-2.0
"""ReFrame on simulated machines: SimGrid's SMPI runs the kernel of b_eff on a described machine, in simulated time.

    reframe -C site_configs/simulated/settings.py --system=simulated:t3e -c reframe_checks -r

Sources of the facts: each platform file in platforms/ states the source of every number; docs/simulated.md shows the
results. A partition is a machine and a placement of processes on it. The runs are short (see OPTIONS), because
simulated time has no noise, and their results are marked as simulated and unofficial.
"""

from pathlib import Path

from reframe.core.backends import getlauncher, register_launcher
from reframe.core.exceptions import ConfigError
from reframe.core.launchers import JobLauncher

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import configuration

_HERE = Path(__file__).resolve().parent

OPTIONS = ["--longest-loop", "1", "--repetitions", "1", "--random-patterns", "3"]
OPTIONS += ["--patterns", "ring,random,ping_pong", "--methods", "nonblocking,blocking"]


class SmpirunLauncher(JobLauncher):
    """`run` beside this file, for the machine and the placement that the partition's variables name."""

    def command(self, job):  # pyright: ignore[reportIncompatibleMethodOverride]: the abstract method has no body
        return [str(_HERE / "run"), "-np", str(job.num_tasks), "--per-node", str(job.num_tasks_per_node or 1)]


try:
    getlauncher("smpirun")
except ConfigError:
    register_launcher("smpirun")(SmpirunLauncher)


def _partition(name, descr, platform, sizes, cores_per_node=1, placement="sequential"):
    return {
        "name": name,
        "descr": descr,
        "scheduler": "local",
        "launcher": "smpirun",
        "environs": ["smpi"],
        "max_jobs": 1,
        "env_vars": [["SIMULATED_PLATFORM", platform], ["SIMULATED_PLACEMENT", placement]],
        "extras": {
            "cores_per_node": cores_per_node,
            "num_nodes": max(sizes) // cores_per_node,
            "sizes": sizes,
            "kernels": ["b_eff"],
            "kernel_options": {"b_eff": OPTIONS},
            "cmake_options": ["-DCOFFEECUP_SIMULATED=ON"],
            "spack_environment": str(_HERE / "spack.yaml"),
            "spack_mpi": "simgrid",
            "reference_values": str(_HERE.parent.parent / "reference_values" / "simulated"),
        },
    }


_POWERS = [2, 8, 32, 128, 512]

site_configuration = configuration(
    folder="simulated",
    systems=[
        {
            "name": "simulated",
            "descr": "described machines, simulated by SimGrid",
            "hostnames": ["^$"],  # only if requested by name
            "max_local_jobs": 1,
            "partitions": [
                _partition("crossbar", "ideal crossbar", "crossbar", _POWERS),
                _partition("t3e", "Cray T3E/900-512, sizes of Table 1", "t3e", [2, 24, 64, 128, 256, 512]),
                _partition("sr8000-sequential", "Hitachi SR 8000, sequential placement", "sr8000", [24, 128], 8),
                _partition(
                    "sr8000-round-robin",
                    "Hitachi SR 8000, round-robin placement",
                    "sr8000",
                    [24, 128],
                    8,
                    "round-robin",
                ),
                _partition("fat_tree", "present-day fat tree, 512 nodes", "fat_tree", _POWERS),
                _partition("dragonfly", "present-day dragonfly, 512 nodes", "dragonfly", _POWERS),
            ],
        }
    ],
    environments=[{"name": "smpi", "cc": "smpicc", "cxx": "", "ftn": ""}],
)
