# SPDX-License-Identifier: Apache-2.0
"""ReFrame on the local machine: its processors, mpirun, no scheduler. Everything it writes is under output/.

Sources of the facts: nothing here is specific to one machine. Cores come from ReFrame's own detection
(`reframe -C site_configs/local/settings.py --detect-host-topology` shows it), the compiler and mpirun from PATH.
"""

if not __package__:  # versions of ReFrame before 4.9, which are refused in one sentence
    from coffeecup.postprocess import reframe_version  # noqa: F401

from ..common.frame import OVERCOMMITTING, configuration

site_configuration = configuration(
    systems=[
        {
            "name": "local",
            "descr": "the machine at hand",
            "hostnames": [".*"],
            "max_local_jobs": 2,
            "partitions": [
                {
                    "name": "default",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["mpi"],
                    "max_jobs": 1,
                    "env_vars": OVERCOMMITTING,
                    "features": ["overcommit"],
                }
            ],
        }
    ],
    environments=[{"name": "mpi", "cc": "mpicc", "cxx": "", "ftn": ""}],
)
