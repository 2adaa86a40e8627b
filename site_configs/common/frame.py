# SPDX-License-Identifier: Apache-2.0
"""What the configurations of all sites share: output directories, logging and modes."""

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path

ACCOUNT = "COFFEECUP_ACCOUNT"  # names the project to charge, so that no configuration does
# Everything that ReFrame writes. A relative path, because ReFrame reads configurations in their own directory: ReFrame
# resolves it where it was started, and the tree may belong to somebody else.
OUTPUT = Path(os.environ.get("COFFEECUP_OUTPUT") or "output")


def in_form(form):
    """ReFrame's options that run every check in this form (Form in postprocess/benchmarks/benchmark.py)."""
    if find_spec("coffeecup") is None:
        return []  # reframe_checks/__init__.py ends the session and says how to install it
    from coffeecup.postprocess.benchmarks.registry import benchmarks

    return [
        f"-S {name}.{variable}={value}"
        for name, benchmark in benchmarks().items()
        for variable, value in benchmark.forms.get(form, {}).items()
    ]


# More processes than cores, and mpirun by root in a container: Open MPI must be told to allow both; MPICH allows them.
OVERCOMMITTING = [
    ["OMPI_ALLOW_RUN_AS_ROOT", "1"],
    ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"],
    ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
    ["PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"],
]

# What is outside its references is run again before it counts: docs/history.md.
_CONFIRMED = ["--repeat=3", "--max-retries=2"]

# ReFrame options for each purpose. Sizes are chosen by the tags of reframe_checks/sizes.py.
MODES = {
    "smoke": [*in_form("short"), "--tag=smallest|two_nodes"],
    "nightly": [*in_form("regular"), *_CONFIRMED, "--tag=one_node|two_nodes|four_nodes"],
    "scaling": in_form("regular"),
    "acceptance": in_form("official"),
    "maintenance": [*in_form("official"), "--tag=one_node|largest"],
    "nodes": [*in_form("sweep"), "--tag=sweep", "--tag=largest"],
    "rolling": [*in_form("sweep"), "--tag=rolling"],  # nothing without a plan: see docs/rolling.md
}


def charged_to(option):
    """The scheduler's option that charges a job, like `--account={}`, for the project in COFFEECUP_ACCOUNT; none where
    it is not set."""
    return [option.format(os.environ[ACCOUNT])] if os.environ.get(ACCOUNT) else []


def of_account(path):
    """A path with `{}` for the project in COFFEECUP_ACCOUNT, which stays visible as a variable where it is not set."""
    return path.format(os.environ.get(ACCOUNT) or f"${ACCOUNT}")


def configuration(systems, environments, folder=""):
    """ReFrame's `site_configuration` of these systems and environments. Everything that is written goes below
    `folder` in COFFEECUP_OUTPUT, by default in output/ of the working directory."""
    output = OUTPUT / folder
    return {
        "systems": [{"prefix": str(output), **system} for system in systems],
        "environments": environments,
        "modes": [{"name": name, "options": options} for name, options in MODES.items()],
        "general": [
            {
                "report_file": str(output / "sessions" / "session-{sessionid}.json"),
                "topology_prefix": str(output / "topology"),
            }
        ],
        "storage": [{"enable": True, "sqlite_db_file": str(output / "results.db")}],
        "logging": [
            {
                "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
                "handlers": [
                    {
                        "type": "file",
                        "name": f"{tempfile.gettempdir()}/coffeecup-{os.getuid()}.log",  # its folder has to exist
                        "level": "debug2",
                        "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                        "append": False,
                    }
                ],
                "handlers_perflog": [
                    {
                        "type": "filelog",
                        "basedir": str(output / "perflogs"),
                        "prefix": "%(check_system)s/%(check_partition)s",
                        "level": "info",
                        "format": "%(check_result)s|%(check_job_completion_time)s|%(check_#ALL)s",
                    }
                ],
            }
        ],
    }
