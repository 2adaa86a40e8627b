"""ReFrame on the machine at hand: its own processors, mpirun, no scheduler. Everything it writes is under output/.

How the facts were found: nothing here is specific to one machine. Cores come from ReFrame's own detection
(`reframe -C site_configs/local/settings.py --detect-host-topology` shows it), the compiler and mpirun from PATH.
"""
from pathlib import Path

_OUTPUT = Path(__file__).resolve().parents[2] / "output"
_OUTPUT.mkdir(exist_ok=True)  # ReFrame does not make the folder of its own log

# More processes than cores, and mpirun by root in a container: Open MPI wants to be told both; MPICH allows both.
_OPEN_MPI = [
    ["OMPI_ALLOW_RUN_AS_ROOT", "1"],
    ["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"],
    ["OMPI_MCA_rmaps_base_oversubscribe", "1"],
    ["PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe"],
]

site_configuration = {
    "systems": [
        {
            "name": "local",
            "descr": "the machine at hand",
            "hostnames": [".*"],
            "prefix": str(_OUTPUT),
            "max_local_jobs": 2,
            "partitions": [
                {
                    "name": "default",
                    "scheduler": "local",
                    "launcher": "mpirun",
                    "environs": ["mpi"],
                    "max_jobs": 1,
                    "env_vars": _OPEN_MPI,
                    "features": ["overcommit"],
                }
            ],
        }
    ],
    "environments": [{"name": "mpi", "cc": "mpicc", "cxx": "", "ftn": ""}],
    "modes": [{"name": "quick", "options": ["-S b_eff.time_budget=30", "-S b_eff_io.form=quick", "-S ftio.input_parameter=16MiB"]}],
    "general": [
        {
            "report_file": str(_OUTPUT / "sessions" / "session-{sessionid}.json"),
            "topology_prefix": str(_OUTPUT / "topology"),
        }
    ],
    "storage": [{"enable": True, "sqlite_db_file": str(_OUTPUT / "results.db")}],
    "logging": [
        {
            "handlers$": [{"type": "stream", "name": "stdout", "level": "info", "format": "%(message)s"}],
            "handlers": [
                {
                    "type": "file",
                    "name": str(_OUTPUT / "reframe.log"),
                    "level": "debug2",
                    "format": "[%(asctime)s] %(levelname)s: %(check_info)s: %(message)s",
                    "append": False,
                }
            ],
            "handlers_perflog": [
                {
                    "type": "filelog",
                    "basedir": str(_OUTPUT / "perflogs"),
                    "prefix": "%(check_system)s/%(check_partition)s",
                    "level": "info",
                    "format": "%(check_result)s|%(check_job_completion_time)s|%(check_#ALL)s",
                }
            ],
        }
    ],
}
